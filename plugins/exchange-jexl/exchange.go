// Package exchangejexl routes documents by expressions. It owns what
// expressions see of a document; the language is sdk/jexl's.
package exchangejexl

import (
	"context"
	_ "embed"
	"maps"
	"strings"
	"sync"

	"github.com/gonutch/crawler/plugins/internal/libindex"
	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/jexl"
	"github.com/gonutch/crawler/sdk/model"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

func build(sdk.Env) (*sdk.Extensions, error) { return &sdk.Extensions{Exchange: &Exchange{}}, nil }

type config struct {
	Expr    string `json:"expr"`
	OnError string `json:"on_error"`
}

type rule struct {
	config
	program *jexl.Program
}

// Exchange stands for Nutch's JexlExchange. It is safe for concurrent use.
type Exchange struct {
	mu    sync.RWMutex
	rules map[string]*rule
}

// Open implements exchange.Exchange.
func (x *Exchange) Open(_ context.Context, name string, params exchange.Params) error {
	c, err := libindex.Merge(config{OnError: "fail"}, indexwriter.Params(params))
	if err != nil {
		return err
	}
	r := &rule{config: c}
	if strings.TrimSpace(r.Expr) == "" {
		return fault.Param("expr", "exchange %s: expr is missing", name)
	}
	if r.program, err = jexl.CompileFor(r.Expr, variables(&model.Document{})); err != nil {
		return fault.Param("expr", "exchange %s: expr: %w", name, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rules == nil {
		x.rules = map[string]*rule{}
	}
	x.rules[name] = r
	return nil
}

// Match implements exchange.Exchange.
func (x *Exchange) Match(_ context.Context, name string, doc *model.Document) (bool, error) {
	x.mu.RLock()
	r := x.rules[name]
	x.mu.RUnlock()
	if r == nil {
		return false, fault.Errorf(fault.Invalid, "exchange %q is not open", name)
	}
	yes, err := r.program.Run(variables(doc))
	switch {
	case err == nil:
		return yes, nil
	case r.OnError == "match":
		return true, nil
	case r.OnError == "pass":
		return false, nil
	}
	return false, fault.Errorf(fault.Permanent, "expression on %s: %w", doc.ID, err)
}

// variables are what an expression may name.
func variables(doc *model.Document) map[string]any {
	v := map[string]any{"id": doc.ID, "boost": doc.Boost}
	maps.Copy(v, jexl.Document(doc.Fields))
	return v
}

var _ exchange.Exchange = (*Exchange)(nil)
