package localdev

import (
	"context"
	"fmt"
	"path/filepath"
)

// versityModule is the Versity S3 Gateway that is built where none is installed.
const versityModule = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// StartVersity starts a Versity S3 Gateway over an empty directory, on a free
// port of the loopback interface, and makes the buckets: a second S3 server, of
// other people, in which every object is a file. The program is $VERSITYGW, else
// "versitygw" on the PATH, else it is built once into the cache folder.
//
// The gateway keeps ETags and headers in extended attributes; where the file
// system of the temporary folder has none, in files beside it.
func StartVersity(ctx context.Context, opts Options) (*Server, error) {
	program, err := serverProgram(ctx, "VERSITYGW", "versitygw", versityModule)
	if err != nil {
		return nil, fmt.Errorf("get versitygw: %w", err)
	}
	return startService(ctx, versityService(program), opts)
}

// versityService is how a gateway is started.
func versityService(program string) service {
	return service{
		name: "versitygw", health: "/health",
		folders: []string{"objects", "versions", "attributes"},
		command: func(address, data string) []string {
			args := []string{program, "--quiet", "--port", address, "--health", "/health", "posix"}
			args = append(args, "--versioning-dir", filepath.Join(data, "versions"))
			if !keepsAttributes(data) {
				args = append(args, "--sidecar", filepath.Join(data, "attributes"))
			}
			return append(args, filepath.Join(data, "objects"))
		},
		env: func(access, secret string) []string {
			return []string{"ROOT_ACCESS_KEY_ID=" + access, "ROOT_SECRET_ACCESS_KEY=" + secret}
		},
	}
}
