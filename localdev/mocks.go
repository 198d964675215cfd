package localdev

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

// What the emulations of S3 are made of, in exact versions.
const (
	S3ProxyVersion = "3.1.0"
	S3MockVersion  = "4.11.0"
	MotoVersion    = "5.2.5"
	s3proxyJar     = "org.gaul:s3proxy:" + S3ProxyVersion + ":jar:jar-with-dependencies"
	s3mockJar      = "com.adobe.testing:s3mock:" + S3MockVersion + ":jar:exec"
)

// StartS3Proxy starts an S3Proxy that keeps objects as files (its provider
// filesystem-nio2), on a free port of the loopback interface, and makes the buckets;
// it keeps no versions. It needs mvn, and a Java of 17 or later on the PATH.
func StartS3Proxy(ctx context.Context, opts Options) (*Server, error) {
	jar, err := Maven(ctx, s3proxyJar)
	if err != nil {
		return nil, fmt.Errorf("get s3proxy: %w", err)
	}
	return startService(ctx, service{
		name: "s3proxy", health: "/", live: http.StatusForbidden, // nobody may list buckets unsigned
		command: func(address, data string) []string {
			return []string{"java", "-Xmx512m", "-Ds3proxy.endpoint=http://" + address, "-Ds3proxy.authorization=aws-v2-or-v4",
				"-Djclouds.provider=filesystem-nio2", "-Djclouds.filesystem.basedir=" + data, "-jar", jar, "--properties", "/dev/null"}
		},
		env: func(access, secret string) []string {
			return []string{"JAVA_TOOL_OPTIONS=-Ds3proxy.identity=" + access + " -Ds3proxy.credential=" + secret}
		},
	}, opts)
}

// StartS3Mock starts an S3Mock on a free port of the loopback interface and makes the
// buckets. It takes any credentials. Of its two listeners only this one can be told
// where to listen: the other is on a free port of every interface, and there is no
// switch for it. It needs mvn, and a Java of 17 or later on the PATH.
func StartS3Mock(ctx context.Context, opts Options) (*Server, error) {
	jar, err := Maven(ctx, s3mockJar)
	if err != nil {
		return nil, fmt.Errorf("get s3mock: %w", err)
	}
	return startService(ctx, service{
		name: "s3mock", health: "/favicon.ico",
		command: func(address, data string) []string {
			host, port, _ := net.SplitHostPort(address) // of freeAddress
			return []string{"java", "-Xmx512m", "-jar", jar, "--server.address=" + host, "--server.port=" + port, "--server.ssl.enabled=false",
				"--com.adobe.testing.s3mock.httpPort=0", "--com.adobe.testing.s3mock.store.root=" + filepath.Join(data, "root")}
		},
		env: func(_, _ string) []string { return nil },
	}, opts)
}

// StartMoto starts a moto server on a free port of the loopback interface and makes
// the buckets. It takes any credentials and keeps all in memory. The first call on a
// machine installs it from the package index; it needs python3 with venv.
func StartMoto(ctx context.Context, opts Options) (*Server, error) {
	python, err := installPython(ctx, []string{"moto[server]==" + MotoVersion})
	if err != nil {
		return nil, fmt.Errorf("install moto: %w", err)
	}
	return startService(ctx, service{
		name: "moto", health: "/moto-api/",
		command: func(address, _ string) []string {
			host, port, _ := strings.Cut(address, ":")
			return []string{python, "-m", "moto.server", "-H", host, "-p", port}
		},
		env: func(_, _ string) []string { return nil },
	}, opts)
}
