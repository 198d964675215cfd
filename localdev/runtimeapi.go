package localdev

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Invocation is one event that a RuntimeAPI hands out.
type Invocation struct {
	Event    string
	Deadline time.Time // when Lambda would freeze the function
}

// Reply is what a function said to an invocation.
type Reply struct {
	ID     string // of the invocation
	Verb   string // response or error
	Header http.Header
	Body   []byte
}

// RuntimeAPI speaks Lambda's runtime API, version 2018-06-01, as its guide
// documents it (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). The
// invocations are handed out in order, as "id-1", "id-2", …; the next one only
// after the reply to the one before, as Lambda does.
type RuntimeAPI struct {
	// Address is what AWS_LAMBDA_RUNTIME_API is to be in the function.
	Address string

	server   *httptest.Server
	complain func(format string, args ...any)
	pending  chan Invocation
	replies  chan Reply
	gone     chan struct{} // closed when nothing more is to be handed out

	mu     sync.Mutex
	handed int
	open   string // invocation without a reply
}

// StartRuntimeAPI starts to hand out invocations to whatever function asks.
// complain is told what a function does that the protocol does not allow.
func StartRuntimeAPI(complain func(format string, args ...any), invocations ...Invocation) *RuntimeAPI {
	a := &RuntimeAPI{
		complain: complain,
		pending:  make(chan Invocation, len(invocations)),
		replies:  make(chan Reply, len(invocations)),
		gone:     make(chan struct{}),
	}
	for _, i := range invocations {
		a.pending <- i
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", a.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{verb}", a.reply)
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		complain("the function called %s %s, which the runtime API does not have", r.Method, r.URL)
	})
	a.server = httptest.NewServer(mux)
	a.Address = strings.TrimPrefix(a.server.URL, "http://")
	return a
}

// Close ends the API. Functions that still ask for invocations are told so.
func (a *RuntimeAPI) Close() {
	close(a.gone)
	a.server.Close()
}

// Await returns the next reply.
func (a *RuntimeAPI) Await(ctx context.Context) (Reply, error) {
	select {
	case r := <-a.replies:
		return r, nil
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("no reply from the function: %w", ctx.Err())
	}
}

func (a *RuntimeAPI) next(w http.ResponseWriter, r *http.Request) {
	select {
	case i := <-a.pending:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.open != "" {
			a.complain("the function asked for more with %s unanswered", a.open)
		}
		a.handed++
		a.open = fmt.Sprintf("id-%d", a.handed)
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", a.open)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.Deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:000000000000:function:batcher")
		w.Header().Set("Content-Type", "application/json")
		if _, err := io.WriteString(w, i.Event); err != nil {
			a.complain("send %s: %v", a.open, err)
		}
	case <-r.Context().Done():
	case <-a.gone:
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (a *RuntimeAPI) reply(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.complain("read the reply: %v", err)
	}
	a.mu.Lock()
	if a.open != r.PathValue("id") {
		a.complain("reply to %s, open is %q", r.PathValue("id"), a.open)
	}
	a.open = ""
	a.mu.Unlock()
	a.replies <- Reply{r.PathValue("id"), r.PathValue("verb"), r.Header, body}
	w.WriteHeader(http.StatusAccepted)
}
