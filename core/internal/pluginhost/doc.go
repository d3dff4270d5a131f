// Package pluginhost finds plugins, starts their processes, watches them,
// replaces them when they die and ends them.
//
// It owns everything about plugin processes: discovery of manifests, the
// environment and limits a process gets, the check that a running plugin is
// what its manifest says, health, deadlines, back-off, quarantine, logs on
// stderr, and that nothing a plugin started is alive after the host has gone.
// Beside sdk/internal/rpc it is the only importer of go-plugin. It must not
// know what an extension point means or what is in a call.
package pluginhost
