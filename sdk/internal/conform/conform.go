// Package conform holds the conformance suite of plugins: what every plugin,
// and every implementation of an extension point, owes to its host, checked
// over real gRPC. plugintest runs it as Go tests, plugintool for "plugin check".
// It must not know how a plugin was built.
package conform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/manifest"
	"github.com/gonutch/crawler/sdk/model"
)

// Options say what to check a plugin with. The zero value uses the manifest's
// defaults and the suite's own samples.
type Options struct {
	// Settings is a JSON object that is laid over the manifest's defaults.
	Settings string
	// Sections holds the core's sections that the manifest lists, each a JSON
	// object; a missing one is {}.
	Sections map[string]string
	// Params are the parameters of the instance that exchanges and index writers
	// are opened with, laid over the manifest's defaults.
	Params map[string]string
	// DataDir is the plugin's folder for files, emptied by whoever made it; ""
	// for none. plugintest makes one.
	DataDir string
	// Varies says that the same question may get different answers, as with
	// plugins that tell the time. Answers are then not compared.
	Varies bool
	// Timeout bounds each check; 0 means 30 seconds.
	Timeout time.Duration

	// Samples, used beside the suite's own.
	URLs      []string                  // urlfilter, urlnormalizer
	Links     []urlexemption.Pair       // urlexemption
	Documents []parser.Input            // parser
	Parses    []parsefilter.Input       // parsefilter
	Pages     []scoring.DistributeInput // scoring
	Index     []indexingfilter.Input    // indexingfilter
	Docs      []model.Document          // exchange, indexwriter, searcher
	Merges    []segmentmerge.Record     // segmentmerge
	// Requests are for protocol plugins; the suite has none of its own, since it
	// does not know what can be reached.
	Requests []protocol.Request
	Queries  []searcher.Query
}

// Target starts the plugin to check.
type Target interface {
	// Manifest is the plugin's manifest.
	Manifest() *manifest.Manifest
	// Start starts a fresh process, or what stands for one. Stop ends it and
	// reports what was wrong with its end.
	Start(ctx context.Context) (conn grpc.ClientConnInterface, stop func() error, err error)
}

// Case is one check.
type Case struct {
	Name string // such as "urlfilter/any order"
	run  func(t *T)
	s    *Suite
}

// T collects what a case finds.
type T struct {
	ctx      context.Context //nolint:containedctx // as in testing.T
	failures []string
	skipped  string
}

type stop struct{}

func (t *T) errorf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

func (t *T) fatalf(format string, args ...any) {
	t.errorf(format, args...)
	panic(stop{})
}

func (t *T) skip(reason string) {
	t.skipped = reason
	panic(stop{})
}

// Outcome is what a case found.
type Outcome struct {
	Failures []string
	Skipped  string // why the case was not run; "" when it was
}

// Run runs the case. It returns within the options' time-out plus what the
// plugin needs to stop.
func (c Case) Run(ctx context.Context) Outcome {
	ctx, cancel := context.WithTimeout(ctx, c.s.timeout())
	defer cancel()
	t := &T{ctx: ctx}
	func() {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(stop); !ok {
					panic(r)
				}
			}
		}()
		c.run(t)
	}()
	return Outcome{t.failures, t.skipped}
}

// Suite is the suite for one plugin. Its cases run one after the other; Close
// ends it.
type Suite struct {
	target Target
	o      Options
	m      *manifest.Manifest

	conn grpc.ClientConnInterface // the configured plugin that most cases share
	end  func() error
}

// New returns the suite for target.
func New(target Target, o Options) *Suite {
	return &Suite{target: target, o: o, m: target.Manifest()}
}

func (s *Suite) timeout() time.Duration {
	if s.o.Timeout > 0 {
		return s.o.Timeout
	}
	return 30 * time.Second
}

// Close ends the plugin that the cases shared.
func (s *Suite) Close() error {
	if s.end == nil {
		return nil
	}
	end := s.end
	s.conn, s.end = nil, nil
	return end()
}

// Cases returns the checks in the order in which they are to run.
func (s *Suite) Cases() []Case {
	cases := s.life()
	for _, p := range s.points() {
		if _, ok := s.m.Provided(p.name); !ok {
			continue
		}
		for _, c := range p.cases {
			c.Name = p.name + "/" + c.Name
			cases = append(cases, c)
		}
	}
	for i := range cases {
		cases[i].s = s
	}
	return cases
}

// shared returns the connection to the configured plugin, starting it first if
// need be.
func (s *Suite) shared(t *T) grpc.ClientConnInterface {
	if s.conn == nil {
		conn, end, err := s.target.Start(t.ctx)
		if err != nil {
			t.fatalf("start: %v", err)
		}
		if err := s.configure(t.ctx, conn); err != nil {
			t.fatalf("configure: %v", errors.Join(err, end()))
		}
		s.conn, s.end = conn, end
	}
	return s.conn
}
