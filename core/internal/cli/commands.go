package cli

// commands is the table of all verbs, in the order of the help.
func commands() []*command {
	return append([]*command{
		runCommandSpec(),
		searchCommand(),
		statusCommand(),
		stopCommand(),
		injectCommand(),
		sitemapCommand(),
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
		segmentsCommand(),
		backupCommand(),
		restoreCommand(),
		explainCommand(),
		readdbCommand(),
		readsegCommand(),
		filterCheckerCommand(),
		normalizerCheckerCommand(),
		parseCheckerCommand(),
		indexCheckerCommand(),
		robotsParserCommand(),
		readlinkdbCommand(),
		readhostdbCommand(),
		pluginCommand(),
		configCommand(),
		testwebCommand(),
	}, totalsCommands()...)
}
