package localdev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"

	"github.com/minio/minio-go/v7/pkg/signer"
)

// Action is what a Proxy does with one request.
type Action uint8

const (
	// Pass forwards the request and the answer.
	Pass Action = iota
	// StripCondition forwards the request without its If-None-Match: the store
	// then overwrites silently, as several real ones do.
	StripCondition
	// DropAnswer forwards the request and resets the connection.
	DropAnswer
	// FailAfter forwards the request and answers 500.
	FailAfter
	// ConflictBefore answers 409 and forwards nothing.
	ConflictBefore
	// UnavailableBefore answers 503 and forwards nothing.
	UnavailableBefore
	// TearBody forwards the request and cuts the body of the answer in half.
	TearBody
	// LandLate keeps the request until Release, and forwards it then even if
	// the client has gone. The client never gets an answer.
	LandLate
)

// Decide chooses the action for the nth request of its method, from 1.
type Decide func(n int, req *http.Request) Action

// Proxy stands between a client and a server. Close it.
type Proxy struct {
	Endpoint string // "http://127.0.0.1:port", in place of the server's

	server *Server
	decide Decide
	http   *httptest.Server

	mu   sync.Mutex
	seen map[string]int // by method
	kept []keptRequest

	arrivals chan struct{} // one for each kept request
}

// maxKept is how many requests one proxy can keep over its life.
const maxKept = 1024

// keptRequest is one that LandLate holds back.
type keptRequest struct {
	release, landed chan struct{} // each is closed once
}

// Proxy starts a proxy of the server.
func (s *Server) Proxy(decide Decide) *Proxy {
	p := &Proxy{server: s, decide: decide, seen: make(map[string]int), arrivals: make(chan struct{}, maxKept)}
	p.http = httptest.NewServer(http.HandlerFunc(p.serve))
	p.Endpoint = p.http.URL
	return p
}

// StripProxy starts a proxy that takes If-None-Match off every PUT.
func (s *Server) StripProxy() *Proxy {
	return s.Proxy(func(_ int, req *http.Request) Action {
		if req.Method == http.MethodPut {
			return StripCondition
		}
		return Pass
	})
}

// Release forwards the requests that were kept so far and waits until the
// server has answered them.
func (p *Proxy) Release() {
	p.mu.Lock()
	kept := p.kept
	p.kept = nil
	p.mu.Unlock()
	for _, k := range kept {
		close(k.release)
		<-k.landed
	}
}

// AwaitKept waits until one more request is being kept, so that a test can let
// the client give up at the right moment.
func (p *Proxy) AwaitKept(ctx context.Context) error {
	select {
	case <-p.arrivals:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no request was kept: %w", ctx.Err())
	}
}

// keep holds the caller until Release, and returns what to call once the
// request has landed.
func (p *Proxy) keep() (landed func()) {
	k := keptRequest{make(chan struct{}), make(chan struct{})}
	p.mu.Lock()
	p.kept = append(p.kept, k)
	p.mu.Unlock()
	p.arrivals <- struct{}{}
	<-k.release
	return func() { close(k.landed) }
}

// Close forwards what is still kept and ends the proxy.
func (p *Proxy) Close() {
	p.Release()
	p.http.CloseClientConnections()
	p.http.Close()
}

// serve handles one request.
func (p *Proxy) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		reset(w)
		return
	}
	p.mu.Lock()
	p.seen[req.Method]++
	n := p.seen[req.Method]
	p.mu.Unlock()
	action := p.decide(n, req)
	switch action {
	case ConflictBefore:
		refuse(w, http.StatusConflict, "ConditionalRequestConflict")
		return
	case UnavailableBefore:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case LandLate:
		defer p.keep()()
	}
	status, header, answer, err := p.forward(req, body, action)
	switch {
	case err != nil || action == DropAnswer || action == LandLate:
		reset(w)
	case action == FailAfter:
		refuse(w, http.StatusInternalServerError, "InternalError")
	default:
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		if action == TearBody {
			_, _ = w.Write(answer[:len(answer)/2]) // the connection breaks below anyway
			w.(http.Flusher).Flush()
			reset(w)
			return
		}
		_, _ = w.Write(answer) // a client that went away needs no answer
	}
}

// forward sends the request to the server and reads the whole answer. It does
// not end with the client, because what is on its way cannot be called back.
func (p *Proxy) forward(req *http.Request, body []byte, action Action) (int, http.Header, []byte, error) {
	target, err := url.Parse(p.server.Endpoint + req.URL.RequestURI())
	if err != nil {
		return 0, nil, nil, err
	}
	out, err := http.NewRequestWithContext(context.WithoutCancel(req.Context()), req.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	out.URL, out.Header, out.Host = target, req.Header.Clone(), req.Host // the host is signed
	if action == StripCondition && out.Header.Get("If-None-Match") != "" {
		out.Header.Del("If-None-Match")
		out = p.sign(out) // the header was part of the signature
	}
	res, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, answer, err
}

// sign replaces the signature of a request by one of the server's owner.
func (p *Proxy) sign(req *http.Request) *http.Request {
	req.Header.Del("Authorization")
	return signer.SignV4(*req, p.server.AccessKey, p.server.SecretKey, "", p.server.Region)
}

// refuse answers with an S3 error.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>by the proxy</Message></Error>", code)
}

// reset breaks the connection as a crash of the machine in between does.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // so that Close resets; if it cannot, it still closes
	}
	_ = conn.Close() // broken on purpose
}
