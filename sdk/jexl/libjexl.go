// Package jexl is the language of expressions over documents that
// index-jexl-filter and exchange-jexl share: expr's, which can neither reach
// out nor loop without end, and the common forms of Nutch's JEXL. It owns how they
// are read and what a failure is; what variables there are is the caller's.
package jexl

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/gonutch/crawler/sdk/fault"
)

// memoryBudget bounds what one evaluation may build, in expr's units.
const memoryBudget = 100_000

// Program is a compiled expression. It is safe for concurrent use.
type Program struct{ program *vm.Program }

// Compile reads an expression that is true or false. Variables that are not there
// when it runs are nil. Errors are of kind Invalid.
func Compile(text string) (*Program, error) {
	return compile(text, expr.AllowUndefinedVariables(), expr.AsBool())
}

// CompileFor is Compile for the variables that there are, which stand for their types here: another
// name is an error.
func CompileFor(text string, variables map[string]any) (*Program, error) {
	return compile(text, expr.Env(variables), expr.AsBool())
}

// CompileNumber reads an expression whose value is a number; see Compile and
// Program.Number.
func CompileNumber(text string) (*Program, error) {
	return compile(text, expr.AllowUndefinedVariables(), expr.AsAny())
}

func compile(text string, options ...expr.Option) (*Program, error) {
	translated, err := translate(text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "%s: %w", text, err)
	}
	p, err := expr.Compile(translated, append(options,
		expr.Function("empty", func(a ...any) (any, error) { return isEmpty(a[0]), nil }, new(func(any) bool)),
		expr.Function("size", func(a ...any) (any, error) { return size(a[0]) }, new(func(any) int)))...)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "%s: %w", text, err)
	}
	return &Program{p}, nil
}

// Run evaluates the expression. An error, of one line, says that it failed on these
// variables, as when it compares a number that is missing.
func (p *Program) Run(variables map[string]any) (bool, error) {
	v, err := p.run(variables)
	if err != nil {
		return false, err
	}
	yes, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("the expression is %v, not true or false", v)
	}
	return yes, nil
}

// Number evaluates an expression of CompileNumber: whole numbers and those with a
// fraction are taken (Nutch takes only the latter).
func (p *Program) Number(variables map[string]any) (float64, error) {
	v, err := p.run(variables)
	if err != nil {
		return 0, err
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(r.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(r.Uint()), nil
	case reflect.Float32, reflect.Float64:
		if f := r.Float(); !math.IsNaN(f) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("the expression is %v, not a number", v)
}

func (p *Program) run(variables map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: memoryBudget}
	v, err := machine.Run(p.program, variables)
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(reason)
	}
	return v, nil
}

// Document returns the variables of a document's fields: doc has the first value of
// each, fields all of them.
func Document(f map[string][]string) map[string]any {
	all := make(map[string]any, len(f))
	for k, v := range f {
		all[k] = v
	}
	return map[string]any{"doc": Firsts(f), "fields": all}
}

// Firsts returns the first value of each key that has one.
func Firsts(m map[string][]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if len(v) > 0 {
			out[k] = v[0]
		}
	}
	return out
}

func isEmpty(v any) bool {
	n, err := size(v)
	return v == nil || err == nil && n == 0
}

func size(v any) (int, error) {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return 0, nil
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return r.Len(), nil
	}
	return 0, fmt.Errorf("size of %v", v)
}
