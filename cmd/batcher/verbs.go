package main

import (
	"context"

	"batcher/config"
)

// verbs are the bodies of the commands and what the shell needs of the outside
// world, as wire.go fills them in. The commands themselves only parse.
type verbs struct {
	// ReadFile reads a pipeline file at an s3:// address.
	ReadFile func(ctx context.Context, address string) ([]byte, error)
	// Reach proves that store and source of a pipeline can be reached.
	Reach func(ctx context.Context, p *config.Pipeline) error

	Init    func(context.Context, *call, initOptions) error
	Plan    func(context.Context, *call, planOptions) error
	Run     func(context.Context, *call, runOptions) (report, error)
	Status  func(context.Context, *call, statusOptions) error
	History func(context.Context, *call, historyOptions) error
	Show    func(context.Context, *call, showOptions) error
	Files   func(context.Context, *call, filesOptions) error
	Head    func(context.Context, *call, headOptions) error
	DDL     func(context.Context, *call, ddlOptions) error
	Verify  func(context.Context, *call, verifyOptions) error
	Doctor  func(context.Context, *call, doctorOptions) error
	Schema  func(context.Context, *call, schemaOptions) error
	DLQ     func(context.Context, *call, dlqOptions) error
	Compact func(context.Context, *call, compactOptions) error
	Publish func(context.Context, *call, publishOptions) error
	GC      func(context.Context, *call, gcOptions) error
	Fence   func(context.Context, *call, confirmation) error
	Adopt   func(context.Context, *call, adoptOptions) error
	Drop    func(context.Context, *call, confirmation) error
	Rewind  func(context.Context, *call, rewindOptions) error
	Expire  func(context.Context, *call, expireOptions) error
}

// body returns the action that calls a verb's body.
func body[O any](f func(context.Context, *call, O) error, o O) action {
	return func(ctx context.Context, c *call) error { return f(ctx, c, o) }
}
