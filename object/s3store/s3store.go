// Package s3store is an object store on Amazon S3 or a compatible service.
//
// Duty: translate object.Store into single HTTP requests, and every answer, or
// the lack of one, into the one sentinel that says what is known.
//
// Invariants:
//   - one call is one request (a listing one per page, an upload one per part):
//     the SDK's own retries are off, because a retried conditional write is
//     refused by the object that its first try stored;
//   - a transport error, which the SDK dresses as an answer with status 0, is
//     ErrUnknown and never taken for a refusal;
//   - a body that ends early is ErrUnknown and never a quiet end of file;
//   - New touches no network, and no secret appears in an error or in String.
//
// It never judges whether a service keeps its promises (package storetest
// does), never relies on the order of a listing, and never uses conditions
// other than If-None-Match: * on PutObject and If-Match on GetObject, which
// are the only dependable ones.
package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"batcher/object"
)

// Transport settings. The time-out of a whole try belongs to package retry;
// headerTimeout only frees connections on which a server went silent.
const (
	idlePerHost   = 64
	headerTimeout = time.Minute
	// defaultRegion satisfies the signature where a service has no regions.
	defaultRegion = "us-east-1"
)

// Checksums says how the integrity of what is sent is protected.
type Checksums uint8

const (
	// ChecksumsAuto is CRC32 for AWS and SHA256 for everything else.
	ChecksumsAuto Checksums = iota
	// CRC32 sends the checksum as a header, which AWS verifies and keeps; over
	// TLS the payload is left out of the signature.
	CRC32
	// SHA256 signs the SHA-256 of the payload, which every service verifies,
	// and sends no checksum headers, which several services reject.
	SHA256
)

// Config names a place and how to reach it. Whatever is empty comes from the
// environment and the shared AWS configuration, as in every AWS tool.
type Config struct {
	Bucket    string    // required
	Prefix    string    // "app" means the keys below "app/" and never "app-old"
	Endpoint  string    // URL of a compatible service; empty: the SDK's sources, then AWS
	Region    string    // empty: the SDK's sources; "us-east-1" for other services
	Profile   string    // of the shared configuration
	RoleARN   string    // role to assume with the credentials found
	CAFile    string    // PEM file of further certificate authorities
	SSEKMSKey string    // KMS key with which objects are encrypted
	PathStyle *bool     // nil: path style for every endpoint that is not AWS's
	Checksums Checksums // of what is sent

	// Retry, if set, runs each step of a multipart upload: part, completion and
	// so on. It may call try again as long as that fails with ErrUnknown or
	// ErrConflict. Without it a step is tried once.
	Retry func(ctx context.Context, try func(context.Context) error) error
}

// Store is a bucket, or the part of it below a prefix. Use New.
type Store struct {
	client *s3.Client
	bucket string
	prefix string // "" or ends in "/"
	kmsKey string
	crc    bool // send CRC32 headers
	retry  func(ctx context.Context, try func(context.Context) error) error
	count  *counter
	end    endpoint
}

var (
	_ object.Store    = (*Store)(nil)
	_ object.Pager    = (*Store)(nil)
	_ object.Uploader = (*Store)(nil)
	_ object.Meter    = (*Store)(nil)
)

// New returns the store that cfg names. It reads the environment and local
// files only; whether bucket and credentials exist shows at the first call.
func New(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Bucket == "" || strings.Contains(cfg.Bucket, "/") {
		return nil, fmt.Errorf("open s3 bucket %q: not a bucket name: %w", cfg.Bucket, object.ErrUnsupported)
	}
	loaded, err := load(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open s3://%s: %w: %w", cfg.Bucket, object.ErrUnsupported, err)
	}
	endpoint, err := effectiveEndpoint(cfg, loaded)
	if err != nil {
		return nil, fmt.Errorf("open s3://%s: %w: %w", cfg.Bucket, object.ErrUnsupported, err)
	}
	if loaded.Region == "" && endpoint.amazon {
		return nil, &failure{what: "open s3://" + cfg.Bucket, says: said{"no region is set", "set AWS_REGION or s3.region"}, kind: object.ErrUnsupported}
	}
	s := &Store{bucket: cfg.Bucket, kmsKey: cfg.SSEKMSKey, retry: cfg.Retry, count: &counter{inner: loaded.HTTPClient}, end: endpoint}
	if trimmed := strings.Trim(cfg.Prefix, "/"); trimmed != "" {
		s.prefix = trimmed + "/"
	}
	if s.retry == nil {
		s.retry = func(ctx context.Context, try func(context.Context) error) error { return try(ctx) }
	}
	s.crc = cfg.Checksums == CRC32 || cfg.Checksums == ChecksumsAuto && endpoint.amazon
	s.client = s3.NewFromConfig(loaded, func(o *s3.Options) {
		o.HTTPClient = s.count
		o.Retryer = aws.NopRetryer{}
		o.UsePathStyle = !endpoint.amazon
		if cfg.PathStyle != nil {
			o.UsePathStyle = *cfg.PathStyle
		}
		if endpoint.url != "" {
			o.BaseEndpoint = aws.String(endpoint.url)
		}
		if o.Region == "" {
			o.Region = defaultRegion
		}
		// The store computes checksums itself; the SDK's default trailers break
		// several services.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return s, nil
}

// load reads the AWS configuration and prepares credentials and connections.
func load(ctx context.Context, cfg Config) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = idlePerHost
		t.ResponseHeaderTimeout = headerTimeout
	})
	opts := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		config.WithLogger(logging.Nop{}), // its warnings are of no use to whom the error tells the cause
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
	}
	if cfg.Region != "" {
		opts = append(opts, config.WithRegion(cfg.Region))
	}
	if cfg.Profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(cfg.Profile))
	}
	if cfg.CAFile != "" {
		f, err := os.Open(cfg.CAFile)
		if err != nil {
			return aws.Config{}, fmt.Errorf("read certificate authorities: %w", err)
		}
		defer f.Close()
		opts = append(opts, config.WithCustomCABundle(f))
	}
	loaded, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load AWS configuration: %w", err)
	}
	if cfg.RoleARN != "" {
		provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(loaded), cfg.RoleARN)
		loaded.Credentials = aws.NewCredentialsCache(provider)
	}
	if loaded.Credentials != nil {
		loaded.Credentials = markedCredentials{loaded.Credentials}
	}
	return loaded, nil
}

// endpoint is where requests go.
type endpoint struct {
	url     string // "" for AWS's own
	amazon  bool
	region  string
	setting string // that names it; "" for AWS's own
	cure    string // if it cannot be reached
}

// String names it for people.
func (e endpoint) String() string {
	if e.url == "" {
		return "Amazon S3 in " + e.region
	}
	return e.url
}

// effectiveEndpoint finds the endpoint in cfg, AWS_ENDPOINT_URL_S3,
// AWS_ENDPOINT_URL or the profile, in this order.
func effectiveEndpoint(cfg Config, loaded aws.Config) (endpoint, error) {
	raw, setting := cfg.Endpoint, "s3.endpoint"
	if raw == "" {
		raw = aws.ToString(s3.NewFromConfig(loaded).Options().BaseEndpoint)
		setting = endpointSetting()
	}
	if raw == "" {
		return endpoint{amazon: true, region: loaded.Region, cure: "check AWS_REGION or s3.region, and the network"}, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return endpoint{}, errors.New("the endpoint is not an http or https URL")
	}
	if u.User != nil {
		return endpoint{}, errors.New("the endpoint holds credentials; they belong in the AWS configuration")
	}
	host := u.Hostname()
	amazon := false
	for _, domain := range []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"} {
		amazon = amazon || strings.HasSuffix(host, domain)
	}
	return endpoint{url: raw, amazon: amazon, setting: setting, cure: "check " + setting}, nil
}

// endpointSetting is where an endpoint comes from that the pipeline file does not name.
func endpointSetting() string {
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return "endpoint_url of the profile"
}

// String implements object.Store: "s3://bucket/prefix".
func (s *Store) String() string {
	return strings.TrimSuffix("s3://"+s.bucket+"/"+s.prefix, "/")
}

// Requests implements object.Meter. Every HTTP request counts, failed ones too.
func (s *Store) Requests() object.Requests { return s.count.requests() }

// place names a key or a prefix of keys for people.
func (s *Store) place(key string) string { return "s3://" + s.bucket + "/" + s.prefix + key }
