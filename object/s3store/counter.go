package s3store

import (
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"

	"batcher/object"
)

// counter counts requests where they leave for the network.
type counter struct {
	inner                        aws.HTTPClient
	get, put, list, delete, head atomic.Int64
}

// Do implements aws.HTTPClient.
func (c *counter) Do(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodHead:
		c.head.Add(1)
	case http.MethodPut, http.MethodPost:
		c.put.Add(1)
	case http.MethodDelete:
		c.delete.Add(1)
	default:
		if req.URL.Query().Has("list-type") {
			c.list.Add(1)
		} else {
			c.get.Add(1)
		}
	}
	return c.inner.Do(req)
}

func (c *counter) requests() object.Requests {
	return object.Requests{
		Get: c.get.Load(), Put: c.put.Load(), List: c.list.Load(),
		Delete: c.delete.Load(), Head: c.head.Load(),
	}
}
