package cli

// commands is the table of all verbs, in the order of the help.
func commands() []*command {
	return []*command{
		runCommandSpec(),
		searchCommand(),
		statusCommand(),
		stopCommand(),
		injectCommand(),
		generateCommand(),
		fetchCommand(),
		parseCommand(),
		updatedbCommand(),
		invertlinksCommand(),
		dedupCommand(),
		indexCommand(),
		cleanCommand(),
		reindexCommand(),
		dbCommand(),
		explainCommand(),
		readdbCommand(),
		readsegCommand(),
		filterCheckerCommand(),
		normalizerCheckerCommand(),
		parseCheckerCommand(),
		indexCheckerCommand(),
		pluginCommand(),
		configCommand(),
		testwebCommand(),
	}
}
