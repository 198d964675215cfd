package localdev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Maven returns the path of an artifact of the central Maven repository, without what
// it depends on. The first call on a machine has mvn fetch it into the cache folder;
// mvn compares checksums. coordinates are "group:artifact:version" for a jar, with
// ":packaging" after it for anything else, and ":packaging:classifier" for one of
// several artifacts of a version, such as a jar that holds all it depends on.
func Maven(ctx context.Context, coordinates string) (string, error) {
	repository, err := toolFolder("maven")
	if err != nil {
		return "", err
	}
	parts := strings.Split(coordinates, ":")
	if len(parts) == 3 {
		parts = append(parts, "jar")
	}
	if len(parts) < 4 || len(parts) > 5 {
		return "", fmt.Errorf("maven: %q: wants group:artifact:version, then perhaps :packaging and :classifier", coordinates)
	}
	group, artifact, version, packaging := parts[0], parts[1], parts[2], parts[3]
	dir := filepath.Join(repository, filepath.Join(strings.Split(group, ".")...), artifact, version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("maven: %w", err)
	}
	path := filepath.Join(dir, strings.Join(append([]string{artifact, version}, parts[4:]...), "-")+"."+packaging)
	return path, once(path, func() error {
		return run(ctx, "mvn", "--batch-mode", "--quiet", "-Dmaven.repo.local="+repository, "-Dtransitive=false",
			mavenGet, "-Dartifact="+strings.Join(parts, ":"))
	})
}

// mavenGet fetches one artifact.
const mavenGet = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:get"

// MavenTree returns the folder in which a tar archive of the central Maven repository
// lies unpacked, without the folder at its top. The first call fetches and unpacks it.
func MavenTree(ctx context.Context, coordinates string) (string, error) {
	dir, err := toolFolder(strings.ReplaceAll(coordinates, ":", "-"))
	if err != nil {
		return "", err
	}
	ready := filepath.Join(dir, "ready")
	return dir, once(ready, func() error {
		archive, err := Maven(ctx, coordinates)
		if err != nil {
			return err
		}
		if err := run(ctx, "tar", "-xzf", archive, "-C", dir, "--strip-components=1"); err != nil {
			return err
		}
		return os.WriteFile(ready, nil, 0o644)
	})
}
