package main

import (
	"cmp"
	"net/url"
	"strings"

	"batcher/config"
)

// bucketAccess is how another program reaches the bucket: nothing secret is in it.
type bucketAccess struct {
	scheme    string // http or https
	host      string // host[:port] of the endpoint; "": AWS's own
	region    string // "": not known
	profile   string // of the shared AWS configuration, that the pipeline file names; "": none
	aws       bool
	pathStyle bool // the bucket stands in the path, not before the host
}

// accessOf takes the settings in the order in which batcher itself does.
func accessOf(s config.S3, environ []string) bucketAccess {
	a := bucketAccess{
		scheme: "https", aws: true, profile: s.Profile,
		region: cmp.Or(s.Region, variable(environ, "AWS_REGION"), variable(environ, "AWS_DEFAULT_REGION")),
	}
	endpoint := cmp.Or(string(s.Endpoint), variable(environ, "AWS_ENDPOINT_URL_S3"), variable(environ, "AWS_ENDPOINT_URL"))
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		a.scheme, a.host, a.aws = u.Scheme, u.Host, false
		for _, domain := range []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"} {
			a.aws = a.aws || strings.HasSuffix(u.Hostname(), domain)
		}
		a.pathStyle = !a.aws
	}
	if s.PathStyle != nil {
		a.pathStyle = *s.PathStyle
	}
	return a
}

// endpoint is the address of the service; "": AWS's own.
func (a bucketAccess) endpoint() string {
	if a.host == "" {
		return ""
	}
	return a.scheme + "://" + a.host
}

// folder is the address of a folder in a bucket, without a / at its end, for programs
// that take one as the web does.
func (a bucketAccess) folder(at config.Location, name string) string {
	path := "/" + name
	if at.Prefix != "" {
		path = "/" + at.Prefix + path
	}
	switch {
	case a.host == "" && a.region == "":
		return "s3://" + at.Bucket + path
	case a.host == "":
		host := "s3." + a.region + ".amazonaws.com"
		if strings.HasPrefix(a.region, "cn-") {
			host += ".cn"
		}
		return bucketAccess{scheme: a.scheme, host: host, pathStyle: a.pathStyle || strings.Contains(at.Bucket, ".")}.folder(at, name)
	case a.pathStyle:
		return a.endpoint() + "/" + at.Bucket + path
	}
	return a.scheme + "://" + at.Bucket + "." + a.host + path
}

// folderURL is the address of a folder as s3a:// or the like, with the characters as
// they are.
func folderURL(scheme string, at config.Location, name string) string {
	return scheme + strings.TrimPrefix(at.String(), "s3") + "/" + name
}

// urlFolder is the address of a folder in a bucket as a URL.
func urlFolder(at config.Location, name string) string {
	address := "s3://" + at.Bucket + "/"
	for segment := range strings.SplitSeq(at.Prefix, "/") {
		if segment != "" {
			address += url.PathEscape(segment) + "/"
		}
	}
	return address + name
}
