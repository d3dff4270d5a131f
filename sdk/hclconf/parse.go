package hclconf

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Limits on what Parse takes: HCL's parser recurses, so deep nesting would
// overflow the stack, which Go can't recover from.
const (
	MaxBytes     = 1 << 20
	MaxDepth     = 64
	maxOperators = 10_000
)

// Parse parses src. The body is nil when problems are returned.
func Parse(name string, src []byte) (*File, *hclsyntax.Body, Problems) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	f := &File{Name: name, Src: src}
	start := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	if len(src) > MaxBytes {
		f.Src = nil
		return f, nil, Problems{f.Problem(start, "the file has %d bytes, more than the %d allowed", len(src), MaxBytes)}
	}
	if other := otherFormat(src); other != "" {
		return f, nil, Problems{f.Problem(start, "this is %s; settings are written in HCL: section { key = \"value\" }", other)}
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		f.Src = nil
		return f, nil, Problems{f.Problem(start, "this is not a text file: byte %d is 0 (is it UTF-16? save it as UTF-8)", i)}
	}
	if ps := tooDeep(f); ps != nil {
		return f, nil, ps
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return f, nil, f.FromDiags(diags)
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		panic(fmt.Sprintf("hclconf: HCL returned a body of type %T", file.Body))
	}
	return f, body, nil
}

// tooDeep looks for what would make the parser or the evaluation recurse too far.
func tooDeep(f *File) Problems {
	tokens, _ := hclsyntax.LexConfig(f.Src, f.Name, hcl.InitialPos) // its diagnostics come again when parsing
	depth, operators := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenCHeredoc:
			depth--
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar,
			hclsyntax.TokenSlash, hclsyntax.TokenPercent, hclsyntax.TokenQuestion, hclsyntax.TokenAnd,
			hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan,
			hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq:
			operators++
		}
		if depth > MaxDepth {
			return Problems{f.Problem(t.Range, "nested more than %d deep", MaxDepth)}
		}
		if operators > maxOperators {
			return Problems{f.Problem(t.Range, "more than %d operators", maxOperators)}
		}
	}
	return nil
}

// Eval evaluates expr with ctx (nil: no functions) to string, bool, int64,
// float64, []any, map[string]any or nil for null. A number written with a
// fraction or exponent is a float64.
func (f *File) Eval(expr hclsyntax.Expression, ctx *hcl.EvalContext) (any, Problems) {
	if w := bareWord(expr); w != "" {
		return nil, Problems{f.Problem(expr.Range(), "text must stand in quotes: write %q", w)}
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		return nil, f.fromDiags(diags, ctx)
	}
	out, err := plainValue(v, 0)
	if err != nil {
		return nil, Problems{f.Problem(expr.Range(), "%v", err)}
	}
	if n, ok := out.(int64); ok && strings.ContainsAny(f.Text(expr.Range()), ".eE") {
		if lit, isLit := expr.(*hclsyntax.LiteralValueExpr); isLit && lit.Val.Type() == cty.Number {
			return float64(n), nil
		}
	}
	return out, nil
}

// Text is the source text of r.
func (f *File) Text(r hcl.Range) string {
	if r.Start.Byte < 0 || r.End.Byte > len(f.Src) || r.Start.Byte > r.End.Byte {
		return ""
	}
	return string(f.Src[r.Start.Byte:r.End.Byte])
}

func bareWord(expr hclsyntax.Expression) string {
	t, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return ""
	}
	words := make([]string, 0, len(t.Traversal))
	for _, step := range t.Traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			words = append(words, s.Name)
		case hcl.TraverseAttr:
			words = append(words, s.Name)
		default:
			return ""
		}
	}
	return strings.Join(words, ".")
}

func plainValue(v cty.Value, depth int) (any, error) {
	switch t := v.Type(); {
	case depth > MaxDepth:
		return nil, fmt.Errorf("nested too deeply")
	case !v.IsKnown():
		return nil, fmt.Errorf("the value is not known")
	case v.IsNull():
		return nil, nil
	case t == cty.String:
		return v.AsString(), nil
	case t == cty.Bool:
		return v.True(), nil
	case t == cty.Number:
		bf := v.AsBigFloat()
		if n, acc := bf.Int64(); acc == big.Exact {
			return n, nil
		}
		x, _ := bf.Float64()
		return x, nil
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		list := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			x, err := plainValue(e, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		return list, nil
	case t.IsObjectType() || t.IsMapType():
		m := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			x, err := plainValue(e, depth+1)
			if err != nil {
				return nil, err
			}
			m[k.AsString()] = x
		}
		return m, nil
	}
	return nil, fmt.Errorf("a value of type %s can't be used here", v.Type().FriendlyName())
}
