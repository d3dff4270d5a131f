package libhttp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// The names and defaults here are those of the core's nutch-default.hcl.
func TestAgreesWithCore(t *testing.T) {
	file, diags := hclparse.NewParser().ParseHCLFile("../../../nutch-default.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	section := map[string]string{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "http" {
			continue
		}
		for name, a := range b.Body.Attributes {
			v, diags := a.Expr.Value(nil)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			js, err := ctyjson.Marshal(v, v.Type())
			if err != nil {
				t.Fatal(err)
			}
			section[name] = string(js)
		}
	}
	cfg := reflect.ValueOf(DefaultConfig().HTTP)
	for i := range cfg.NumField() {
		key := cfg.Type().Field(i).Tag.Get("json")
		got := reflect.New(cfg.Field(i).Type())
		if err := json.Unmarshal([]byte(section[key]), got.Interface()); err != nil {
			t.Errorf("http.%s: %v", key, err)
		}
		if a, b := fmt.Sprint(got.Elem()), fmt.Sprint(cfg.Field(i)); a != b {
			t.Errorf("http.%s: the core's default is %q, the plugin's %q", key, a, b)
		}
	}
}
