package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// version is set by the linker in releases: -X main.version=v1.2.3.
var version string

// buildVersion returns the release, or what the module system knows.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func (s *shell) versionCommand() *cli.Command {
	return s.command(cli.Command{
		Name:  "version",
		Usage: "print the version",
	}, func(c *cli.Context) (action, error) { return printVersion, noArguments(c) })
}

func printVersion(_ context.Context, c *call) error {
	if c.Output == outputText {
		return printTo(c.Stdout, fmt.Sprintf("batcher %s %s/%s %s\n", buildVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version()))
	}
	return printJSON(c, struct {
		Version string `json:"version"`
		OS      string `json:"os"`
		Arch    string `json:"arch"`
		Go      string `json:"go"`
	}{buildVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version()})
}
