// This file owns the clock of save points. It must not know what a snapshot is.

package server

import (
	"time"

	"reminis/commands"
)

// savePointInterval is how often save points are looked at: they count in seconds.
const savePointInterval = time.Second

// runSavePoints has snapshots written at the save points that were given. The usual
// ones, which nobody gave, write nothing: the store keeps the data.
func runSavePoints(config *Config, core *commands.Core, done <-chan struct{}) {
	ticker := time.NewTicker(savePointInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-done:
			return
		}
		settings := config.Settings()
		if !settings.SaveGiven {
			continue
		}
		for _, p := range settings.SavePoints {
			if core.SaveIfDue(p.Seconds, p.Changes) {
				break
			}
		}
	}
}
