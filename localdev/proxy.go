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
	"time"

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
	// DropRequest forwards nothing and resets the connection.
	DropRequest
	// DropAnswer forwards the request and resets the connection.
	DropAnswer
	// DelayAnswer forwards the request and keeps the answer for answerDelay.
	DelayAnswer
	// Duplicate forwards the request twice and gives the second answer.
	Duplicate
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
	// LoseAndLandLate resets the connection, keeps the request until Release,
	// and forwards it then: the client takes it for lost long before it lands.
	LoseAndLandLate
)

// answerDelay is how long DelayAnswer keeps an answer.
const answerDelay = 200 * time.Millisecond

// String names the action.
func (a Action) String() string {
	return [...]string{"pass", "strip condition", "drop request", "drop answer", "delay answer", "duplicate", "fail after",
		"conflict before", "unavailable before", "tear body", "land late", "lose and land late"}[a]
}

// Exchange is one request that a Proxy forwarded, and what the server answered.
type Exchange struct {
	Request  *http.Request // its body was read: see Body
	Body     []byte
	Action   Action
	Sent     time.Time // to the server; before this it has done nothing
	Answered time.Time
	Status   int // 0: the server gave no answer
	Answer   []byte
}

// Decide chooses the action for the nth request of its method, from 1.
type Decide func(n int, req *http.Request) Action

// Proxy stands between a client and a server. Close it.
type Proxy struct {
	Endpoint string // "http://127.0.0.1:port", in place of the server's

	server    *Server
	decide    Decide
	watch     func(Exchange)
	http      *httptest.Server
	transport *http.Transport

	mu   sync.Mutex
	seen map[string]int // by method
	kept []keptRequest

	arrivals chan struct{} // one for each kept request, as far as it goes
}

// maxArrivals is how many kept requests AwaitKept can lag behind.
const maxArrivals = 1024

// serverConnections is how many idle connections to the server are kept.
const serverConnections = 64

// keptRequest is one that LandLate holds back.
type keptRequest struct {
	release, landed chan struct{} // each is closed once
}

// Proxy starts a proxy of the server.
func (s *Server) Proxy(decide Decide) *Proxy { return s.WatchedProxy(decide, func(Exchange) {}) }

// WatchedProxy starts a proxy that shows each request that it forwarded, with
// the server's answer, to watch, whether the client will learn it or not. Both
// functions are called from several goroutines at a time.
func (s *Server) WatchedProxy(decide Decide, watch func(Exchange)) *Proxy {
	p := &Proxy{
		server: s, decide: decide, watch: watch, seen: make(map[string]int), arrivals: make(chan struct{}, maxArrivals),
		// Nothing is compressed on the way, so that the client gets the server's bytes.
		transport: &http.Transport{MaxIdleConnsPerHost: serverConnections, DisableCompression: true},
	}
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
	select {
	case p.arrivals <- struct{}{}:
	default: // nobody waits for so many
	}
	<-k.release
	return func() { close(k.landed) }
}

// Close forwards what is still kept and ends the proxy.
func (p *Proxy) Close() {
	p.Release()
	p.http.CloseClientConnections()
	p.http.Close()
	p.transport.CloseIdleConnections()
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
	if before(w, action) {
		return
	}
	if action == LandLate || action == LoseAndLandLate {
		defer p.keep()()
	}
	status, header, answer, err := p.forward(req, body, action)
	if action == Duplicate {
		status, header, answer, err = p.forward(req, body, action)
	}
	if err != nil || action == DropAnswer || action == LandLate {
		reset(w)
		return
	}
	switch action {
	case LoseAndLandLate: // reset already
	case FailAfter:
		refuse(w, http.StatusInternalServerError, "InternalError")
	case TearBody:
		give(w, status, header, answer[:len(answer)/2])
		w.(http.Flusher).Flush()
		reset(w)
	case DelayAnswer:
		time.Sleep(answerDelay)
		fallthrough
	default:
		give(w, status, header, answer)
	}
}

// before does what comes before a request is forwarded, and says whether the
// request ends there.
func before(w http.ResponseWriter, action Action) (done bool) {
	switch action {
	case ConflictBefore:
		refuse(w, http.StatusConflict, "ConditionalRequestConflict")
	case UnavailableBefore:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case DropRequest:
		reset(w)
	case LoseAndLandLate:
		reset(w)
		return false
	default:
		return false
	}
	return true
}

// give passes an answer on. A client that went away needs none.
func give(w http.ResponseWriter, status int, header http.Header, answer []byte) {
	for name, values := range header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
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
	seen := Exchange{Request: req, Body: body, Action: action, Sent: time.Now()}
	defer func() {
		seen.Answered = time.Now()
		p.watch(seen)
	}()
	res, err := p.transport.RoundTrip(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	seen.Status, seen.Answer = res.StatusCode, answer
	return res.StatusCode, res.Header, answer, nil
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
