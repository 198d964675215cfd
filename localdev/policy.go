package localdev

import (
	"fmt"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// sessionLife is how long restricted credentials are good for.
const sessionLife = time.Hour

// Restricted is Env with temporary credentials that may do what the policy, a
// JSON document, allows and nothing else.
func (s *Server) Restricted(policy string) ([]string, error) {
	role, err := credentials.NewSTSAssumeRole(s.Endpoint, credentials.STSAssumeRoleOptions{
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, Location: s.Region,
		Policy: policy, DurationSeconds: int(sessionLife / time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("restrict credentials: %w", err)
	}
	v, err := role.GetWithContext(nil)
	if err != nil {
		return nil, fmt.Errorf("restrict credentials: %w", err)
	}
	return []string{
		"AWS_ACCESS_KEY_ID=" + v.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + v.SecretAccessKey, "AWS_SESSION_TOKEN=" + v.SessionToken,
		"AWS_ENDPOINT_URL_S3=" + s.Endpoint, "AWS_REGION=" + s.Region, "AWS_EC2_METADATA_DISABLED=true",
	}, nil
}
