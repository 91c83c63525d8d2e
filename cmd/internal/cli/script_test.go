package cli

import (
	"errors"
	"flag"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"anvilsweep/client/simengine"
)

var update = flag.Bool("update", false, "rewrite the golden files inside the scripts")

// The scripts run the real binary as real processes: exit codes, streams,
// files and signals are what a user would get.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"anvilsweep": func() {
			signals := make(chan os.Signal, 3)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			os.Exit(Run(os.Args[1:], Env{
				Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Signals: signals, Exit: os.Exit,
			}))
		},
	})
}

func TestScripts(t *testing.T) {
	repository, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		// A script's own golden files: cmp stdout want.txt.
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			// A repository of the script's own, so that paths are the same everywhere.
			if err := os.CopyFS(filepath.Join(e.WorkDir, "examples"), os.DirFS(filepath.Join(repository, "examples"))); err != nil {
				return err
			}
			if err := os.Mkdir(filepath.Join(e.WorkDir, ".git"), 0o755); err != nil {
				return err
			}
			if err := os.CopyFS(filepath.Join(e.WorkDir, "docs"), os.DirFS(filepath.Join(repository, "docs"))); err != nil {
				return err
			}
			e.Setenv("EXAMPLES", "examples/recipes")
			e.Setenv("COLUMNS", "120")
			e.Values["servers"] = &servers{byName: map[string]*server{}}
			e.Defer(e.Values["servers"].(*servers).close)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"tries":    tries,
			"exits":    exits,
			"holds":    holds,
			"signal":   signalled,
			"signalat": signalledAt,
			"killed":   killed,
			"accounted": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: accounted DIR CELLS")
				}
				cells, err := strconv.Atoi(args[1])
				ts.Check(err)
				accounted(fatal{ts}, ts.MkAbs(args[0]), cells)
			},
			"engine":   startEngine,
			"answer":   startAnswer,
			"deadport": deadPort,
			"requests": waitRequests,
			"cut":      cutFile,
			"keyfree":  keyFree,
		},
	})
}

// fatal lets helpers of tests end a script.
type fatal struct{ *testscript.TestScript }

func (f fatal) Helper()                           {}
func (f fatal) Errorf(format string, args ...any) { f.Fatalf(format, args...) }
func (f fatal) Fatal(args ...any)                 { f.Fatalf("%v", args) }

// exits CODE COMMAND...: run the command and hold its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case err == nil && want == 0:
	case errors.As(err, &exit) && exit.ExitCode() == want:
	default:
		ts.Fatalf("%s: want exit code %d, got %v", strings.Join(args[1:], " "), want, err)
	}
}

// holds GLOB TEXT: a file that matches holds the text.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: holds GLOB TEXT")
	}
	matches, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(matches) == 0 {
		ts.Fatalf("no file matches %s", args[0])
	}
	found := false
	for _, path := range matches {
		found = found || strings.Contains(ts.ReadFile(path), args[1])
	}
	if found == neg {
		ts.Fatalf("%s: holds %q is %v", args[0], args[1], found)
	}
}

// signal CODE SERVER REQUESTS TIMES ARGS...: run anvilsweep, send Ctrl-C so many
// times once the server has seen the requests, and hold the exit code. Streams
// go to the files out.txt and err.txt.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: signal CODE SERVER REQUESTS TIMES ARGS...")
	}
	interrupt(ts, args[0], args[3], args[4:], func() { waitRequests(ts, false, args[1:3]) })
}

// signalat CODE GLOB TIMES ARGS...: the same once a file matches.
func signalledAt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signalat CODE GLOB TIMES ARGS...")
	}
	interrupt(ts, args[0], args[2], args[3:], func() {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if found, err := filepath.Glob(ts.MkAbs(args[1])); err == nil && len(found) > 0 {
				return
			}
			if time.Now().After(deadline) {
				ts.Fatalf("no file came to match %s", args[1])
			}
		}
	})
}

func interrupt(ts *testscript.TestScript, code, times string, args []string, when func()) {
	want, err := strconv.Atoi(code)
	ts.Check(err)
	presses, err := strconv.Atoi(times)
	ts.Check(err)
	cmd := exec.Command(program(ts), args...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(os.Environ(), "COLUMNS=120", "PATH="+ts.Getenv("PATH"))
	out, err := os.Create(ts.MkAbs("out.txt"))
	ts.Check(err)
	errs, err := os.Create(ts.MkAbs("err.txt"))
	ts.Check(err)
	cmd.Stdout, cmd.Stderr = out, errs
	ts.Check(cmd.Start())
	when()
	for range presses {
		ts.Check(cmd.Process.Signal(os.Interrupt))
		time.Sleep(100 * time.Millisecond)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		ts.Check(cmd.Process.Kill())
		ts.Fatalf("the program did not end after %d signals", presses)
	}
	ts.Check(errors.Join(out.Close(), errs.Close()))
	var exit *exec.ExitError
	if code := cmd.ProcessState.ExitCode(); code != want {
		ts.Fatalf("exit code %d, want %d: %v %v\n%s", code, want, err, errors.As(err, &exit), ts.ReadFile("err.txt"))
	}
}

// server is one endpoint a script talks to, with the requests it has seen.
type server struct {
	seen atomic.Int64
	stop func()
}

type servers struct {
	mu     sync.Mutex
	byName map[string]*server
}

func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.byName {
		server.stop()
	}
}

func add(ts *testscript.TestScript, name, url string, s *server) {
	all := ts.Value("servers").(*servers)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.byName[name] = s
	ts.Setenv(name, url)
}

// engine NAME PROFILE [FAULT [FROM]]: the embedded engine at $NAME; every
// chat request from number FROM on meets the fault.
func startEngine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: engine NAME PROFILE [FAULT [FROM]]")
	}
	profile, err := simengine.ProfileByName(args[1])
	ts.Check(err)
	fault, from := "", 0
	if len(args) > 2 {
		fault = args[2]
	}
	if len(args) > 3 {
		from, err = strconv.Atoi(args[3])
		ts.Check(err)
	}
	s := &server{}
	engine := simengine.New(simengine.Options{Profile: profile, Fault: func(int, string) string {
		if int(s.seen.Add(1)) > from {
			return fault
		}
		return ""
	}})
	ts.Check(engine.Listen("127.0.0.1:0"))
	s.stop = func() { ts.Check(engine.Close()) }
	add(ts, args[0], engine.BaseURL(), s)
}

// answer NAME STATUS CONTENT-TYPE BODY: a server that gives one answer to all.
func startAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: answer NAME STATUS CONTENT-TYPE BODY")
	}
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	s := &server{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			s.seen.Add(1)
		}
		w.Header().Set("Content-Type", args[2])
		w.WriteHeader(status)
		body := strings.ReplaceAll(args[3], "@KEY@", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if _, err := w.Write([]byte(body)); err != nil {
			return // the client has gone; nothing to answer
		}
	}))
	s.stop = web.Close
	add(ts, args[0], web.URL+"/v1", s)
}

// deadport NAME: an address at $NAME that nothing listens on.
func deadPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deadport NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	url := "http://" + l.Addr().String() + "/v1"
	ts.Check(l.Close())
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_ADDRESS", l.Addr().String())
}

// program is the path of the binary under test.
func program(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, "anvilsweep")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	ts.Fatalf("anvilsweep is not on the script's path")
	return ""
}

// killed TIMES ARGS...: run anvilsweep and kill it with SIGKILL at a random
// moment, so many times.
func killed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: killed TIMES ARGS...")
	}
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	var window time.Duration
	for range times {
		cmd := exec.Command(program(ts), args[1:]...)
		cmd.Dir = ts.Getenv("WORK")
		began := time.Now()
		ts.Check(cmd.Start())
		// How long a process takes to come to its first cell is the machine's: the
		// first one tells, and the others are killed around that time.
		for window == 0 {
			if found, err := filepath.Glob(ts.MkAbs("*/cells/*/*.json")); err == nil && len(found) > 0 {
				window = 2 * time.Since(began)
			}
			if time.Since(began) > 30*time.Second {
				ts.Check(cmd.Process.Kill())
				_ = cmd.Wait()
				ts.Fatalf("no cell was written in 30 s")
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rand.Int63n(int64(window))))
		ts.Check(cmd.Process.Kill())
		_ = cmd.Wait() // it was killed, or had ended
	}
}

// requests NAME N: wait until the server has seen at least N chat requests.
func waitRequests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: requests NAME N")
	}
	want, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	s := ts.Value("servers").(*servers).byName[args[0]]
	for deadline := time.Now().Add(time.Minute); s.seen.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s has seen %d requests, want %d", args[0], s.seen.Load(), want)
		}
	}
}

// cut FILE: change one byte in the middle of the file.
func cutFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cut FILE")
	}
	file := ts.MkAbs(args[0])
	matches, err := filepath.Glob(file)
	ts.Check(err)
	if len(matches) == 0 {
		ts.Fatalf("no file matches %s", args[0])
	}
	data, err := os.ReadFile(matches[0])
	ts.Check(err)
	for i := len(data) / 2; i < len(data); i++ {
		if data[i] >= '0' && data[i] <= '8' {
			data[i]++
			break
		}
	}
	ts.Check(os.WriteFile(matches[0], data, 0o644))
}

// keyfree TEXT: no file in the script's folder, and neither stream of the last
// command, holds the text.
func keyFree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keyfree TEXT")
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(stream), args[0]) {
			ts.Fatalf("%s holds the key", stream)
		}
	}
	ts.Check(filepath.Walk(ts.Getenv("WORK"), func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), args[0]) {
			ts.Fatalf("%s holds the key", path)
		}
		return err
	}))
}
