// Package train is the commands "atenia train" and "atenia finetune".
//
//	standard output   evaluations and the result, as text or JSON
//	terminal          a line that moves: step, loss, tokens a second, time left
//	exit              0 done, 1 failed or stopped by Ctrl-C with a snapshot, 2 the configuration is wrong
package train
