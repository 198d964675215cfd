package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"batcher/object"
	"batcher/object/s3store"
)

// TestETagsAreComparedByWhatTheyName lists an object under one spelling and reads it
// under another, from services that do or do not take the listed one for a condition.
func TestETagsAreComparedByWhatTheyName(t *testing.T) {
	const sum = "0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		listed, read string
		same         bool
	}{
		{`"` + sum + `"`, `"` + sum + `"`, true},
		{sum, `"` + sum + `"`, true},
		{`"` + sum + `"`, `W/"` + sum + `"`, true},
		{`W/"` + sum + `"`, sum, true},
		{strings.ToUpper(sum), `"` + sum + `"`, true},
		{sum + "-12", `"` + strings.ToUpper(sum) + `-12"`, true},
		{sum + "-12", sum + "-13", false},
		{"opaque", `"opaque"`, true},
		{"opaque", `"Opaque"`, false},
		{sum, `"` + sum[1:] + `0"`, false},
	} {
		for _, strict := range []bool{false, true} {
			fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("list-type") == "2" {
					fmt.Fprintf(w, `<ListBucketResult><Contents><Key>k</Key><Size>4</Size><ETag>%s</ETag></Contents></ListBucketResult>`, strings.ReplaceAll(c.listed, `"`, "&quot;"))
					return
				}
				if pin := r.Header.Get("If-Match"); strict && pin != "" && pin != c.read {
					w.WriteHeader(http.StatusPreconditionFailed)
					return
				}
				w.Header().Set("ETag", c.read)
				fmt.Fprint(w, "body")
			}))
			s := open(t, s3store.Config{Bucket: "b", Endpoint: fake.URL})
			page, _, err := s.ListPage(context.Background(), "", object.Deep, "")
			if err != nil {
				t.Fatal(err)
			}
			body, _, err := object.ReadAll(context.Background(), s, "k", object.GetOptions{ETag: page[0].ETag}, 10)
			switch {
			case c.same && (err != nil || string(body) != "body"):
				t.Errorf("listed %s, read %s (strict %v): %v", c.listed, c.read, strict, err)
			case !c.same && (!errors.Is(err, object.ErrChanged) || !strings.Contains(err.Error(), strings.Trim(c.read, `"`))):
				t.Errorf("listed %s, read %s (strict %v): %q, %v", c.listed, c.read, strict, body, err)
			}
			fake.Close()
		}
	}
}
