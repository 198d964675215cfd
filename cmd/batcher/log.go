package main

import (
	"io"
	"log/slog"

	"github.com/urfave/cli/v2"
)

// logOptions say what is logged and how.
type logOptions struct {
	Format string // text or json
	Level  slog.Level
}

// parseLogOptions reads --log-format, --log-level, -v and -q. An explicit level
// goes before -v and -q.
func parseLogOptions(c *cli.Context) (logOptions, error) {
	o := logOptions{Format: c.String("log-format"), Level: slog.LevelInfo}
	if err := oneOf("log-format", o.Format, "text", "json"); err != nil {
		return o, err
	}
	switch {
	case c.Bool("verbose") && c.Bool("quiet"):
		return o, usageError("", "-v and -q exclude each other")
	case c.Bool("verbose"):
		o.Level = slog.LevelDebug
	case c.Bool("quiet"):
		o.Level = slog.LevelError
	}
	if !c.IsSet("log-level") {
		return o, nil
	}
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, ok := levels[c.String("log-level")]
	if !ok {
		return o, oneOf("log-level", c.String("log-level"), "debug", "info", "warn", "error")
	}
	o.Level = level
	return o, nil
}

// newLogger returns a logger to w.
func newLogger(w io.Writer, o logOptions) *slog.Logger {
	handler := &slog.HandlerOptions{Level: o.Level}
	if o.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, handler))
	}
	return slog.New(slog.NewTextHandler(w, handler))
}
