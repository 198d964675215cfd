package object

import "context"

// Skip is why a listing leaves out a name that somebody may take for an object.
type Skip string

// What a listing leaves out. Only directories have such names.
const (
	SkipFolderLink Skip = "folder_link" // a symbolic link to a folder: following it could read a file twice, or have no end
	SkipDeadLink   Skip = "dead_link"   // a symbolic link that leads nowhere
	SkipSpecial    Skip = "special"     // a pipe, a socket or a device
)

type skipping struct{}

// Skipping returns a context under which List calls tell for each name that it leaves
// out, as it comes to it and in the goroutine of the caller. A listing that begins anew
// tells the same names again.
func Skipping(ctx context.Context, tell func(key string, why Skip)) context.Context {
	return context.WithValue(ctx, skipping{}, tell)
}

// Skipped tells the caller of a listing about a name that is left out, if it wants to
// know. It is for stores.
func Skipped(ctx context.Context, key string, why Skip) {
	if tell, ok := ctx.Value(skipping{}).(func(string, Skip)); ok {
		tell(key, why)
	}
}
