package localdev

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	stopTimeout  = time.Minute      // much data takes long to remove
)

// Options sets up a server. The zero value makes the buckets "plain" and
// "versioned".
type Options struct {
	Buckets   []string // plain buckets to make
	Versioned []string // buckets to make that keep every version
	Locked    []string // buckets to make with object lock, which keep every version too
}

// Server is a running S3 service. Stop it.
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
	program, err := serverProgram(ctx, "MINIO", "minio", minioModule)
	if err != nil {
		return nil, fmt.Errorf("get minio: %w", err)
	}
	return startService(ctx, minioService(program), opts)
}

// minioService is how a MinIO is started.
func minioService(program string) service {
	return service{
		name: "minio", health: "/minio/health/live",
		command: func(address, data string) []string {
			return []string{program, "server", "--quiet", "--address", address, data}
		},
		env: func(access, secret string) []string {
			return []string{"MINIO_ROOT_USER=" + access, "MINIO_ROOT_PASSWORD=" + secret, "MINIO_BROWSER=off", "MINIO_UPDATE=off"}
		},
	}
}

// service is what the servers differ in.
type service struct {
	name    string
	health  string                              // path that answers once the server is live
	live    int                                 // status of that answer; 0: 200
	folders []string                            // to make in the data folder
	command func(address, data string) []string // program and arguments
	env     func(access, secret string) []string
}

// startService starts a server and makes the buckets.
func startService(ctx context.Context, kind service, opts Options) (*Server, error) {
	if opts.Buckets == nil && opts.Versioned == nil && opts.Locked == nil {
		opts = Options{Buckets: []string{"plain"}, Versioned: []string{"versioned"}}
	}
	for try := 1; ; try++ {
		s, err := start(ctx, kind)
		if err == nil {
			if err := s.makeBuckets(ctx, opts); err != nil {
				return nil, errors.Join(err, s.Stop())
			}
			return s, nil
		}
		if try == startTries || ctx.Err() != nil {
			return nil, fmt.Errorf("start %s: %w", kind.name, err)
		}
	}
}

// serverProgram returns the path of a server program: what the variable names,
// else what the PATH has, else what is built from the module.
func serverProgram(ctx context.Context, variable, name, module string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	dir, err := toolFolder("bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, once(path, func() error {
		cmd := exec.CommandContext(ctx, "go", "install", module)
		cmd.Dir = dir // outside of any module
		cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go install %s: %w\n%s", module, err, out)
		}
		return nil
	})
}

// supervise runs a server until its standard input ends, which happens at the
// latest when the process that holds the other end dies, and then removes the
// data folder.
const supervise = `data=$1; shift; "$@" & server=$!; cat >/dev/null; kill "$server"; wait "$server"; rm -rf "$data"`

// start starts one server and waits until it answers.
func start(ctx context.Context, kind service) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp("", "batcher-"+kind.name+"-")
	if err != nil {
		return nil, err
	}
	for _, folder := range kind.folders {
		if err := os.Mkdir(filepath.Join(data, folder), 0o755); err != nil {
			return nil, errors.Join(err, os.RemoveAll(data))
		}
	}
	s := &Server{Endpoint: "http://" + address, AccessKey: "batcher-local", SecretKey: rand.Text(), Region: "us-east-1", log: &logBuffer{}}
	s.cmd = exec.Command("/bin/sh", append([]string{"-c", supervise, "sh", data}, kind.command(address, data)...)...)
	s.cmd.Env = append(os.Environ(), kind.env(s.AccessKey, s.SecretKey)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	if err := s.ready(ctx, kind.health, cmp.Or(kind.live, http.StatusOK)); err != nil {
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
func (s *Server) ready(ctx context.Context, health string, live int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+health, nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == live {
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
	for _, name := range opts.Locked {
		if err := s.admin.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: s.Region, ObjectLocking: true}); err != nil {
			return fmt.Errorf("make bucket %s with object lock: %w", name, err)
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

// Put writes an object with another client than the one under test.
func (s *Server) Put(ctx context.Context, bucket, key string, body []byte) error {
	_, err := s.admin.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	if err != nil {
		return fmt.Errorf("put %s/%s: %w", bucket, key, err)
	}
	return nil
}

// Get reads an object with another client than the one under test. An object
// that is not there is fs.ErrNotExist.
func (s *Server) Get(ctx context.Context, bucket, key string) ([]byte, error) {
	body, err := s.get(ctx, bucket, key)
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("get %s/%s: %w", bucket, key, err)
	}
	return body, nil
}

func (s *Server) get(ctx context.Context, bucket, key string) ([]byte, error) {
	o, err := s.admin.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(o)
	return body, errors.Join(err, o.Close())
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
