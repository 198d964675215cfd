package chaos_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"batcher/localdev"
	"batcher/localdev/chaos"
)

// programs builds the real programs once.
var programs = sync.OnceValues(func() (chaos.Programs, error) { return chaos.Build(context.Background(), folder) })

// folder is where the programs are.
var folder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if folder, err = os.MkdirTemp("", "batcher-chaos-programs-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(folder)
		return m.Run()
	}())
}

// torture is a run on a server of its own.
func torture(t *testing.T, start func(context.Context, localdev.Options) (*localdev.Server, error), o chaos.Options) (chaos.Figures, error) {
	t.Helper()
	var err error
	if o.Programs, err = programs(); err != nil {
		t.Fatal(err)
	}
	if o.Server, err = start(t.Context(), localdev.Options{Buckets: chaos.Buckets()}); err != nil {
		t.Fatalf("this test needs the store: %v", err)
	}
	defer func() {
		if err := o.Server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	o.Seed, o.Folder = uint64(time.Now().UnixNano()), t.TempDir()
	t.Logf("seed %d", o.Seed)
	return chaos.Run(t.Context(), o)
}

// TestTorturedProcessesLoseAndDoubleNothing is the promise on real S3 servers:
// processes are killed and stopped at random moments and requests, on a network
// that does what it wants, with gc, expire and fence in between.
func TestTorturedProcessesLoseAndDoubleNothing(t *testing.T) {
	stores, kills := map[string]func(context.Context, localdev.Options) (*localdev.Server, error){"MinIO": localdev.StartMinIO}, 8
	if localdev.Proving() {
		stores["versitygw"], kills = localdev.StartVersity, 50
	}
	for name, start := range stores {
		t.Run(name, func(t *testing.T) {
			figures, err := torture(t, start, chaos.Options{Kills: kills})
			t.Log(figures)
			if err != nil {
				t.Fatal(err)
			}
			if figures.Kills < kills || figures.Collects == 0 || figures.AnswersLost == 0 {
				t.Error("too little happened: the test shows nothing")
			}
			localdev.Figure("chaos on "+name, figures)
		})
	}
}

// TestAStoreThatIgnoresTheConditionIsFoundOut shows that the proof sees what it
// is there for: once the chain exists, the store overwrites manifests. Soon after two
// processes have raced, those that come later refuse the chain and the torture ends.
func TestAStoreThatIgnoresTheConditionIsFoundOut(t *testing.T) {
	_, err := torture(t, localdev.StartMinIO, chaos.Options{Kills: 100, Limit: time.Minute,
		Sabotage: func(_ int, req *http.Request) localdev.Action {
			if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/manifests/") && !strings.HasSuffix(req.URL.Path, "/00000000000000000000.json") {
				return localdev.StripCondition
			}
			return localdev.Pass
		}})
	if !errors.Is(err, chaos.ErrNotLinearizable) {
		t.Errorf("the history of the slots is not among what was found: %v", err)
	}
	t.Logf("found: %.2000v", err)
}
