package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"batcher/lambda"
)

// configVariable names the pipeline file of a function, also at s3://….
const configVariable = "BATCHER_CONFIG"

// lambdaRunner runs once for each invocation of a Lambda function. Logs go to
// stderr as JSON, where CloudWatch takes them. A panic is let through: package
// lambda reports it and ends the process, whose memory nobody can trust then.
func lambdaRunner(proc process, v verbs) lambda.Runner {
	return func(ctx context.Context, deadline time.Time) (json.RawMessage, int, error) {
		c := newShell(proc, v).newCall(globals{
			Config: variable(proc.Environ, configVariable), Output: outputJSON, Color: "never",
			Log: logOptions{Format: "json"},
		})
		rep, err := invoke(ctx, c, deadline)
		code := exitOK
		if err != nil {
			rep = rep.failed(err)
			code = classify(err).Code
		}
		line, lineErr := rep.line()
		return json.RawMessage(line), code, errors.Join(err, lineErr)
	}
}

// invoke is one run that has its last commit done by the deadline; zero is none.
func invoke(ctx context.Context, c *call, deadline time.Time) (report, error) {
	if c.Config == "" {
		return report{}, &exitError{exitConfig, errors.New(configVariable + " is not set"), "set it to the pipeline file: a path in the package or s3://bucket/key"}
	}
	var o runOptions
	if !deadline.IsZero() {
		if o.Deadline = time.Until(deadline); o.Deadline <= 0 {
			return report{Outcome: outcomeFailed}, &exitError{exitTemporary, errNoTime, "give the function a longer timeout"}
		}
	}
	return c.verbs.Run(ctx, c, o)
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
