// Package plugintool is what an author does with a plugin: begin one, check it,
// ask it something. It prints nothing; the command line does. It must not know
// the core.
package plugintool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"google.golang.org/grpc"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/internal/conform"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Plugin is a plugin that can be started.
type Plugin struct{ target *conform.Program }

// Open returns the built plugin in folder. A manifest that can't be read and a
// program that is not there are errors of kind Invalid.
func Open(folder string) (*Plugin, error) {
	m, err := conform.Load(folder)
	if err != nil {
		return nil, err
	}
	return &Plugin{conform.NewFolder(m)}, nil
}

// OpenBuiltin returns the plugin with the manifest src that executable serves
// when it is started as "plugin serve <id>".
func OpenBuiltin(executable string, src []byte) (*Plugin, error) {
	m, err := manifest.Read("plugin.hcl", src)
	if err != nil {
		return nil, err
	}
	return &Plugin{conform.NewProgram(m, func() (*exec.Cmd, error) {
		return exec.Command(executable, "plugin", "serve", m.ID), nil
	})}, nil
}

// Manifest returns the plugin's manifest.
func (p *Plugin) Manifest() *manifest.Manifest { return p.target.Manifest() }

// Settings are what a plugin is configured with.
type Settings struct {
	Own      string            // JSON object, laid over the manifest's defaults; "" for none
	Sections map[string]string // the core's sections that the manifest lists, each a JSON object
	Params   map[string]string // parameters of the instance of an exchange or index writer
	DataDir  string            // folder for the plugin's files; "" for none
}

// Result is the outcome of one check.
type Result struct {
	Name     string   // such as "urlfilter/any order"
	Failures []string // what was wrong; none when all was well
	Skipped  string   // why it was not checked; "" when it was
}

// OK reports whether nothing was wrong.
func (r Result) OK() bool { return len(r.Failures) == 0 }

// Check runs the conformance suite of plugintest against the started plugin and
// hands each result to report as it comes. It returns how many checks failed,
// and an error when the plugin did not end properly or ctx ended.
func (p *Plugin) Check(ctx context.Context, s Settings, report func(Result)) (failed int, err error) {
	suite := conform.New(p.target, conform.Options{Settings: s.Own, Sections: s.Sections, Params: s.Params, DataDir: s.DataDir})
	defer func() { err = errors.Join(err, suite.Close()) }()
	for _, c := range suite.Cases() {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		out := c.Run(ctx)
		r := Result{Name: c.Name, Failures: out.Failures, Skipped: out.Skipped}
		if !r.OK() {
			failed++
		}
		report(r)
	}
	return failed, nil
}

// Call starts and configures the plugin, asks it one question at point and ends
// it. Input is a JSON array of items; Calls lists the form of each point's. The
// answer is a JSON array with an element for each item: {"answer": …} or
// {"error": …, "kind": …}.
func (p *Plugin) Call(ctx context.Context, s Settings, point string, input json.RawMessage) (answer json.RawMessage, err error) {
	m := p.Manifest()
	if _, ok := m.Provided(point); !ok {
		return nil, fault.Errorf(fault.Invalid, "plugin %s does not provide %q; it provides %s", m.ID, point, provided(m))
	}
	ask, err := callOf(point)
	if err != nil {
		return nil, err
	}
	conf, err := conform.Configuration(m, s.Own, s.Sections)
	if err != nil {
		return nil, err
	}
	conf.DataDir = s.DataDir
	conn, end, err := p.target.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := host.NewBase(conn).Configure(ctx, conf); err != nil {
		return nil, fmt.Errorf("configure %s: %w", m.ID, err)
	}
	return ask(ctx, conn, conform.Params(m, s.Params), input)
}

func provided(m *manifest.Manifest) string {
	s := ""
	for i, p := range m.Provides {
		if i > 0 {
			s += ", "
		}
		s += p.Point
	}
	return s
}

// call asks one point about the items in input.
type call func(ctx context.Context, conn grpc.ClientConnInterface, params map[string]string, input json.RawMessage) (json.RawMessage, error)
