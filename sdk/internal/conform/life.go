package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/host"
	"github.com/gonutch/crawler/sdk/internal/pb/basev1"
	"github.com/gonutch/crawler/sdk/manifest"
)

// Configuration returns what the core would send to the plugin: the manifest's
// defaults with settings, a JSON object or "", laid over them.
func Configuration(m *manifest.Manifest, settings string, sections map[string]string) (host.Configuration, error) {
	own := map[string]json.RawMessage{}
	for _, s := range m.Settings {
		if s.Default == nil {
			continue
		}
		raw, err := json.Marshal(s.Default)
		if err != nil {
			return host.Configuration{}, fmt.Errorf("setting %s: %w", s.Name, err)
		}
		own[s.Name] = raw
	}
	if settings != "" {
		var over map[string]json.RawMessage
		if err := json.Unmarshal([]byte(settings), &over); err != nil {
			return host.Configuration{}, fault.Errorf(fault.Invalid, "settings: want a JSON object: %w", err)
		}
		for name := range over {
			if !known(m.Settings, name) && m.Block(name) == nil {
				return host.Configuration{}, fault.Errorf(fault.Invalid, "setting %q is not in the manifest", name)
			}
		}
		maps.Copy(own, over)
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return host.Configuration{}, fmt.Errorf("encode settings: %w", err)
	}
	c := host.Configuration{Own: raw, Sections: map[string]json.RawMessage{}}
	for _, name := range m.Sections {
		c.Sections[name] = json.RawMessage(`{}`)
		if s := sections[name]; s != "" {
			c.Sections[name] = json.RawMessage(s)
		}
	}
	return c, nil
}

func known(settings []manifest.Setting, name string) bool {
	for _, s := range settings {
		if s.Name == name {
			return true
		}
	}
	return false
}

// Params returns the parameters of an instance, the manifest's defaults filled in.
func Params(m *manifest.Manifest, given map[string]string) map[string]string {
	out := map[string]string{}
	for _, p := range m.Parameters {
		switch v := p.Default.(type) {
		case nil:
		case string:
			out[p.Name] = v
		default:
			if raw, err := json.Marshal(v); err == nil {
				out[p.Name] = string(raw)
			}
		}
	}
	maps.Copy(out, given)
	return out
}

func (s *Suite) configure(ctx context.Context, conn grpc.ClientConnInterface) error {
	c, err := Configuration(s.m, s.o.Settings, s.o.Sections)
	if err != nil {
		return err
	}
	c.DataDir = s.o.DataDir
	return host.NewBase(conn).Configure(ctx, c)
}

// life returns the checks of what every plugin has.
func (s *Suite) life() []Case {
	return []Case{
		{Name: "base/describe", run: s.describe},
		{Name: "base/not configured", run: s.notConfigured},
		{Name: "base/defaults", run: func(t *T) { s.shared(t) }},
		{Name: "base/health", run: s.health},
		{Name: "base/bad settings", run: s.badSettings},
		{Name: "base/provides", run: s.provides},
		{Name: "base/shutdown without use", run: s.shutdown},
	}
}

// fresh runs fn with a plugin of its own.
func (s *Suite) fresh(t *T, fn func(conn grpc.ClientConnInterface)) {
	conn, end, err := s.target.Start(t.ctx)
	if err != nil {
		t.fatalf("start: %v", err)
	}
	defer func() {
		if err := end(); err != nil {
			t.errorf("end: %v", err)
		}
	}()
	fn(conn)
}

func (s *Suite) describe(t *T) {
	s.fresh(t, func(conn grpc.ClientConnInterface) {
		d, err := host.NewBase(conn).Describe(t.ctx)
		if err != nil {
			t.fatalf("%v", err)
		}
		if !bytes.Equal(d.Manifest, s.m.Source) {
			t.errorf("the running plugin was built with another plugin.hcl than %s", s.m.File)
		}
		if d.APIVersion != manifest.APIVersion {
			t.errorf("the plugin speaks version %d of the contract, want %d", d.APIVersion, manifest.APIVersion)
		}
	})
}

func (s *Suite) notConfigured(t *T) {
	s.fresh(t, func(conn grpc.ClientConnInterface) {
		for _, p := range s.points() {
			if _, ok := s.m.Provided(p.name); !ok {
				continue
			}
			if err := p.probe(t.ctx, conn); err == nil {
				t.errorf("%s was answered before Configure", p.name)
			}
		}
	})
}

func (s *Suite) health(t *T) {
	if err := host.NewBase(s.shared(t)).Health(t.ctx); err != nil {
		t.errorf("%v", err)
	}
}

// badSettings sends what no core would send: the plugin says so and lives on.
func (s *Suite) badSettings(t *T) {
	s.fresh(t, func(conn grpc.ClientConnInterface) {
		for _, raw := range []string{"no json", "[]", `{"own": 5}`} {
			_, err := basev1.NewPluginServiceClient(conn).Configure(t.ctx, &basev1.ConfigureRequest{Settings: []byte(raw)})
			if err == nil && len(s.m.Settings) == 0 {
				continue // a plugin without settings need not look at them
			}
			if c := status.Code(err); c != codes.InvalidArgument {
				t.errorf("settings %s: got %v, want InvalidArgument", raw, err)
			}
		}
		if err := s.configure(t.ctx, conn); err != nil {
			t.errorf("settings after bad ones: %v", err)
		}
	})
}

// provides compares what the manifest promises with what the plugin answers.
func (s *Suite) provides(t *T) {
	conn := s.shared(t)
	for _, p := range s.points() {
		_, provided := s.m.Provided(p.name)
		err := p.probe(t.ctx, conn)
		missing := status.Code(err) == codes.Unimplemented
		switch {
		case provided && missing:
			t.errorf("the manifest provides %q, the plugin does not serve it", p.name)
		case !provided && !missing:
			t.errorf("the plugin serves %q, the manifest does not provide it", p.name)
		}
	}
}

func (s *Suite) shutdown(t *T) {
	s.fresh(t, func(conn grpc.ClientConnInterface) {
		if err := host.NewBase(conn).Shutdown(t.ctx); err != nil {
			t.errorf("before Configure: %v", err)
		}
	})
	s.fresh(t, func(conn grpc.ClientConnInterface) {
		if err := s.configure(t.ctx, conn); err != nil {
			t.fatalf("configure: %v", err)
		}
		for range 2 {
			if err := host.NewBase(conn).Shutdown(t.ctx); err != nil {
				t.errorf("after Configure: %v", err)
			}
		}
	})
}
