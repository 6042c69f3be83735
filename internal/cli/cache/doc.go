// Package cache is the commands for a folder with a persistent cache.
//
//	atenia cache ls       what is in it
//	atenia cache verify   whether it is what was put there
//	atenia cache gc       less of it
package cache
