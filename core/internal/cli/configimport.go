package cli

import (
	"bufio"
	"fmt"

	"github.com/gonutch/crawler/core/internal/config"
)

// importConfig writes Nutch's configuration as ours. Its --dir is Nutch's conf folder.
func (inv *invocation) importConfig(args []string) error {
	conf := inv.dir
	inv.dir = ""
	cfg, err := inv.load()
	if err != nil {
		return err
	}
	manifests, _, err := inv.plugins(cfg)
	if err != nil {
		return err
	}
	o := config.ImportOptions{Defaults: inv.app.Defaults, Site: args[0], Dir: conf, Manifests: manifests}
	if len(args) > 1 && args[1] != "-" {
		o.Target = args[1]
	}
	a, err := config.Import(o)
	if err != nil {
		return err
	}
	if err := inv.output(o.Target, func(w *bufio.Writer) error { _, err := w.WriteString(a.Text); return err }); err != nil {
		return err
	}
	for _, l := range a.Left {
		fmt.Fprintf(inv.app.Stderr, "not translated: %s\n", l)
	}
	if o.Target != "" {
		fmt.Fprintf(inv.app.Stderr, "written to %s; crawler config check --config %s tells what is still missing\n", o.Target, o.Target)
	}
	return nil
}
