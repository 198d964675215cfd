package localdev

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// minioModule is the MinIO server that is built where none is installed.
const minioModule = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"

const (
	startTries   = 3                // another process may take the port first
	readyTimeout = 30 * time.Second // of one try
	stopTimeout  = 10 * time.Second
)

// Options sets up a MinIO server. The zero value makes the buckets "plain" and
// "versioned".
type Options struct {
	Buckets   []string // plain buckets to make
	Versioned []string // buckets to make that keep every version
}

// Server is a running MinIO. Stop it.
type Server struct {
	Endpoint  string // "http://127.0.0.1:port"
	AccessKey string
	SecretKey string
	Region    string

	admin *minio.Client
	cmd   *exec.Cmd
	stdin io.Closer // closing it ends the server
	log   *logBuffer
	stop  sync.Once
	err   error // of Stop
}

// StartMinIO starts a server with an empty data folder on a free port of the
// loopback interface and makes the buckets. The program is $MINIO, else "minio"
// on the PATH, else it is built once into the cache folder, which takes minutes.
func StartMinIO(ctx context.Context, opts Options) (*Server, error) {
	program, err := minioProgram(ctx)
	if err != nil {
		return nil, fmt.Errorf("get minio: %w", err)
	}
	if opts.Buckets == nil && opts.Versioned == nil {
		opts = Options{Buckets: []string{"plain"}, Versioned: []string{"versioned"}}
	}
	for try := 1; ; try++ {
		s, err := start(ctx, program)
		if err == nil {
			if err := s.makeBuckets(ctx, opts); err != nil {
				return nil, errors.Join(err, s.Stop())
			}
			return s, nil
		}
		if try == startTries || ctx.Err() != nil {
			return nil, fmt.Errorf("start minio: %w", err)
		}
	}
}

// minioProgram returns the path of the server program.
func minioProgram(ctx context.Context) (string, error) {
	if path := os.Getenv("MINIO"); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("minio"); err == nil {
		return path, nil
	}
	dir, err := toolFolder("bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "minio")
	return path, once(path, func() error {
		cmd := exec.CommandContext(ctx, "go", "install", minioModule)
		cmd.Dir = dir // outside of any module
		cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go install %s: %w\n%s", minioModule, err, out)
		}
		return nil
	})
}

// supervise runs a server until its standard input ends, which happens at the
// latest when the process that holds the other end dies, and then removes the
// data folder.
const supervise = `data=$1; shift; "$@" & server=$!; cat >/dev/null; kill "$server"; wait "$server"; rm -rf "$data"`

// start starts one server and waits until it answers.
func start(ctx context.Context, program string) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "batcher-minio-")
	if err != nil {
		return nil, err
	}
	s := &Server{Endpoint: "http://" + address, AccessKey: "batcher-local", SecretKey: rand.Text(), Region: "us-east-1", log: &logBuffer{}}
	s.cmd = exec.Command("/bin/sh", "-c", supervise, "sh", data, program, "server", "--quiet", "--address", address, data)
	s.cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+s.AccessKey, "MINIO_ROOT_PASSWORD="+s.SecretKey, "MINIO_BROWSER=off", "MINIO_UPDATE=off")
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, s.log), s.Stop())
	}
	s.admin, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Region: s.Region})
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// freeAddress returns a loopback address that nobody listened on a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// ready waits until the server says that it is live.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/minio/health/live", nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) makeBuckets(ctx context.Context, opts Options) error {
	for _, name := range opts.Buckets {
		if err := s.MakeBucket(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range opts.Versioned {
		if err := s.MakeBucket(ctx, name); err != nil {
			return err
		}
		if err := s.admin.EnableVersioning(ctx, name); err != nil {
			return fmt.Errorf("keep versions in bucket %s: %w", name, err)
		}
	}
	return nil
}

// MakeBucket makes a bucket without versions.
func (s *Server) MakeBucket(ctx context.Context, name string) error {
	if err := s.admin.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: s.Region}); err != nil {
		return fmt.Errorf("make bucket %s: %w", name, err)
	}
	return nil
}

// Env returns the variables with which a child process, or os.Setenv, reaches
// the server: "NAME=value" each.
func (s *Server) Env() []string { return s.EnvAt(s.Endpoint) }

// EnvAt is Env with another endpoint, such as that of a Proxy.
func (s *Server) EnvAt(endpoint string) []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.SecretKey, "AWS_SESSION_TOKEN=",
		"AWS_ENDPOINT_URL_S3=" + endpoint, "AWS_REGION=" + s.Region, "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Stop ends the server, waits for it, and removes its data. It may be repeated.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		_ = s.stdin.Close() // tells the server to end; if it has ended already, Wait says how
		timer := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
		defer timer.Stop()
		s.err = s.cmd.Wait()
	})
	return s.err
}

// logBuffer keeps the first output of a server for error texts.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p[:min(len(p), max(0, 64<<10-l.buf.Len()))])
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
