package pluginhost

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/host"
)

// attach connects to a plugin that was started by hand, such as under a
// debugger. It is neither restricted nor watched nor ended, and calls have no
// time limit.
func (pr *process) attach(addr string, maxMessage int) error {
	var target string
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		target = "unix:" + path
	} else if hostport, ok := strings.CutPrefix(addr, "tcp:"); ok {
		target = "passthrough:///" + hostport
	} else {
		return fault.Errorf(fault.Invalid, "plugin.reattach: %q: want unix:/path or tcp:host:port", addr)
	}
	cc, err := grpc.NewClient(target, append(host.DialOptions(maxMessage),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return fault.New(fault.Invalid, err)
	}
	pr.conn.ClientConnInterface, pr.base = cc, host.NewBase(cc)
	pr.closer = func() { _ = cc.Close() }
	pr.log.Info("attached to a running plugin", "address", addr)
	return nil
}
