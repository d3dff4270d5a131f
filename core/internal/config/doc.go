// Package config reads the configuration: the embedded nutch-default.hcl, the
// user's files, the environment and the command line, later ones winning. It
// owns the layers, the origin of every value, the schema of the core's
// settings (which is nutch-default.hcl itself, so that documentation and code
// can't disagree), the choice and order of plugins, and what is said about
// mistakes. It must not know what a setting is used for, nor start anything.
//
// Use is in two steps, because plugin folders are themselves a setting:
//
//	cfg, err := config.Load(config.Options{...})
//	manifests := ...                   // built-ins and those in plugin.folders
//	err = cfg.ValidatePlugins(manifests)
//	choice, err := cfg.Choose(manifests)
//
// A Config is safe for concurrent use after ValidatePlugins has returned.
package config
