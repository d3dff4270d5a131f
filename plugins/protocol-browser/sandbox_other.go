//go:build !linux

package protocolbrowser

// tryNamespaces: elsewhere Chromium's sandbox needs nothing of the machine.
func tryNamespaces() error { return nil }

func isSetUID(string) bool { return false }
