package main

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"time"

	"batcher/lambda"
)

// configVariable names the pipeline file of a function, also at s3://….
const configVariable = "BATCHER_CONFIG"

// lambdaRunner runs once for each invocation of a Lambda function. Logs go to
// stderr as JSON, where CloudWatch takes them.
func lambdaRunner(proc process, v verbs) lambda.Runner {
	return func(ctx context.Context, deadline time.Time) (json.RawMessage, int, error) {
		c := newShell(proc, v).newCall(globals{
			Config: variable(proc.Environ, configVariable), Output: outputJSON, Color: "never",
			Log: logOptions{Format: "json"}, Threads: runtime.GOMAXPROCS(0),
		})
		var rep report
		err := protect(func() (err error) {
			if c.Config == "" {
				return &exitError{exitConfig, errors.New(configVariable + " is not set"), "set it to the pipeline file: a path in the package or s3://bucket/key"}
			}
			var o runOptions
			if !deadline.IsZero() {
				o.Deadline = time.Until(deadline)
			}
			rep, err = v.Run(ctx, c, o)
			return err
		})
		code := exitOK
		if err != nil {
			rep = rep.failed(err)
			code = classify(err).Code
		}
		line, lineErr := rep.line()
		return json.RawMessage(line), code, errors.Join(err, lineErr)
	}
}

// variable returns a variable of the environment, "" if it is not set.
func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
