package simengine

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Options say what an engine serves.
type Options struct {
	Profile Profile
	Models  []string // others get 404; empty: any name is served
	Seed    int64    // of the generated texts
	APIKey  string   // demanded as a bearer token; empty: none
	// Template is how many tokens the chat template adds to a prompt.
	Template int
	// NoTokenizer: /tokenize is not there.
	NoTokenizer bool
	// Loading is how long the engine answers 503 after it was started, as one
	// that reads its weights does.
	Loading time.Duration
	// Memory is how many tokens the KV cache holds, 0 for no limit: sequences
	// wait for room, and the youngest is preempted where those that run outgrow it.
	Memory int
	// Crash is called by the fault "crash"; nil: the engine closes.
	Crash func()
	// Fault names how the n-th chat request, from 1, is to fail; nil or "":
	// not at all. See Faults.
	Fault func(n int, model string) string
}

// Engine is one simulated server.
type Engine struct {
	opts      Options
	scheduler *scheduler
	listener  *listener
	requests  atomic.Int64
	ctx       context.Context
	cancel    context.CancelFunc
	done      sync.WaitGroup
	failed    error // of Serve; read after done
	loaded    time.Time
}

// New makes an engine; Listen starts it.
func New(opts Options) *Engine {
	e := &Engine{opts: opts}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Listen binds the address and serves it; port 0 takes a free one.
func (e *Engine) Listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	e.listener = &listener{Listener: l, open: map[*tracked]bool{}}
	e.scheduler = newScheduler(e.opts.Profile, e.opts.Memory)
	e.loaded = time.Now().Add(e.opts.Loading)
	server := &fasthttp.Server{
		Handler: e.handle, Name: "anvilsweep-sim", NoDefaultDate: true,
		MaxRequestBodySize: 64 << 20, Logger: silent{},
		// How long a finished worker may linger, and with it the pool after Close.
		MaxIdleWorkerDuration: 100 * time.Millisecond,
	}
	e.done.Go(func() { e.scheduler.run(e.ctx) })
	e.done.Go(func() {
		if err := server.Serve(e.listener); err != nil && !errors.Is(err, net.ErrClosed) {
			e.failed = err
		}
	})
	return nil
}

// BaseURL is where the OpenAI API is: "http://127.0.0.1:PORT/v1".
func (e *Engine) BaseURL() string { return "http://" + e.listener.Addr().String() + "/v1" }

// Close ends the engine at once, streams in flight included, and returns when
// nothing of it is left.
func (e *Engine) Close() error {
	e.cancel()
	if e.listener == nil {
		return nil
	}
	err := e.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil // closing twice is closing
	}
	e.listener.closeAll()
	e.done.Wait()
	e.listener.wait()
	return errors.Join(err, e.failed)
}

// crash ends the engine as a crash would: nothing is answered any more.
func (e *Engine) crash() {
	if e.opts.Crash != nil {
		e.opts.Crash()
		return
	}
	go func() { _ = e.Close() }() // it waits for the handler that called us
}

// silent drops the server's notes of clients that went away.
type silent struct{}

func (silent) Printf(string, ...any) {}

// listener keeps its connections, so that Close can end them.
type listener struct {
	net.Listener
	mu     sync.Mutex
	open   map[*tracked]bool
	left   sync.WaitGroup
	closed bool
}

type tracked struct {
	net.Conn
	from *listener
	once sync.Once
}

// Accept is part of net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &tracked{Conn: c, from: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	l.open[t] = true
	l.left.Add(1)
	return t, nil
}

// Close is part of net.Conn.
func (t *tracked) Close() error {
	err := t.Conn.Close()
	t.once.Do(func() {
		t.from.mu.Lock()
		delete(t.from.open, t)
		t.from.mu.Unlock()
		t.from.left.Done()
	})
	return err
}

// closeAll ends every connection's reads and writes; the server then closes
// them itself, which wait waits for.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for t := range l.open {
		_ = t.Conn.Close() // it may have gone already
	}
}

func (l *listener) wait() { l.left.Wait() }
