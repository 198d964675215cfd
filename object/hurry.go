package object

import "context"

type hurried struct{}

// Hurried returns a context under which whoever tries calls again tries them twice at
// most: for a caller that can go on without the answer and has waited for others.
func Hurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, hurried{}, true)
}

// IsHurried says whether the context comes from Hurried.
func IsHurried(ctx context.Context) bool {
	return ctx.Value(hurried{}) != nil
}
