//go:build !linux

package control

import "net"

// checkPeer trusts the socket's mode.
func checkPeer(*net.UnixConn) error { return nil }
