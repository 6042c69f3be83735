package amp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CLAPSuffix ends the names of files of plug-ins.
const CLAPSuffix = ".clap"

// CLAPName is this package's name among the formats of package amp.
const CLAPName = "clap"

// CLAP makes [Serve] run plug-ins in processes of their own. Give it to
// the child.
func CLAP() Format {
	return Format{Name: CLAPName, Open: func(path string, log []byte) (Host, error) { return openCLAP(path, log) }}
}

// Limits of a scan.
const (
	scanLimit     = 10 * time.Second // of a child
	maxCLAPFiles  = 10000
	scanLineLimit = 4 << 20
	fdScanned     = 3 // since a plug-in may print to the standard ones
	exitFailed    = 3 // of a child that said why
)

// CLAPFolders returns where plug-ins are looked for, in order: the given folders or
// files, those of CLAP_PATH, and on Linux ~/.clap and /usr/lib/clap. getenv
// returns "" for a variable that is not set.
func CLAPFolders(given []string, getenv func(string) string) []string {
	list := slices.Clone(given)
	for _, dir := range filepath.SplitList(getenv("CLAP_PATH")) {
		if dir != "" {
			list = append(list, dir)
		}
	}
	if home := getenv("HOME"); home != "" {
		list = append(list, filepath.Join(home, ".clap"))
	}
	return append(list, "/usr/lib/clap")
}

// findCLAP lists the files of plug-ins below the folders. A missing folder is empty.
func findCLAP(folders []string) (files []string, err error) {
	for _, dir := range folders {
		dir, err2 := filepath.Abs(dir)
		if err2 != nil {
			return nil, err2
		}
		err2 = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir() || !strings.HasSuffix(path, CLAPSuffix) || slices.Contains(files, path):
				return nil
			case len(files) == maxCLAPFiles:
				return fmt.Errorf("more than %d files of plug-ins: name the folders more closely", maxCLAPFiles)
			}
			files = append(files, path)
			return nil
		})
		err = errors.Join(err, err2)
	}
	return files, err
}

// An answer is one line of a scanning child.
type answer struct {
	List   []CLAPPlugin `json:"list,omitempty"`   // id, name, vendor and version
	Plugin *CLAPPlugin  `json:"plugin,omitempty"` // everything
	Error  string       `json:"error,omitempty"`  // why the library, or the next plug-in, is refused
}

// ServeCLAPScan is the main function of a scanning child, with the arguments that a
// catalog appends: a file, a sample rate, and ids. It loads the file and writes
// a line with its plug-ins, or with ids a line for each of them. It returns the
// exit status.
func ServeCLAPScan(args []string) int {
	if len(args) < 2 {
		return 2
	}
	path, ids := args[0], args[2:]
	rate, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return 2
	}
	out := os.NewFile(fdScanned, "answer")
	if out == nil {
		return 2
	}
	say := func(a answer) { json.NewEncoder(out).Encode(a) }
	l, err := OpenCLAP(path)
	if err != nil {
		say(answer{Error: textOf(err)})
		return exitFailed
	}
	if len(ids) == 0 {
		say(answer{List: l.Plugins()})
		return 0
	}
	l.rate = rate
	for _, id := range ids {
		p, err := l.Describe(id)
		if err != nil {
			say(answer{Error: textOf(err)})
		} else {
			say(answer{Plugin: p})
		}
	}
	return 0 // without Close: a plug-in that crashes at its end has told all
}

// ask starts a scanning child and returns its answers. The error says why it
// gave no more of them.
func ask(ctx context.Context, cfg *CLAPConfig, path string, ids []string) (list []answer, err error) {
	command, rate := cfg.Command, cmp.Or(cfg.SampleRate, defaultRate)
	if len(command) == 0 {
		return nil, &CLAPRefusedError{Path: path, Text: "there is no command to describe it with"}
	}
	timed, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.CommandContext(timed, command[0], slices.Concat(command[1:], []string{path, strconv.FormatFloat(rate, 'g', -1, 64)}, ids)...)
	cmd.ExtraFiles = []*os.File{out}
	err = cmd.Start()
	out.Close()
	if err != nil {
		return nil, err
	}
	list, err = readAnswers(in, max(len(ids), 1), path)
	if err != nil || len(list) == max(len(ids), 1) {
		cmd.Process.Kill() // all is said; what a plug-in does at its end matters no more
		cmd.Wait()
		return list, err
	}
	why := cmd.Wait()
	if timed.Err() != nil && ctx.Err() == nil {
		return list, &CLAPRefusedError{Path: path, Text: fmt.Sprintf("no description within %v", scanLimit)}
	}
	return list, &CLAPRefusedError{Path: path, Text: fmt.Sprintf("it ended the process that describes it: %v", why)}
}

// readAnswers reads the lines of a child, which runs code of others: they are
// checked like a file.
func readAnswers(r io.Reader, most int, path string) (list []answer, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, scanLineLimit)
	for len(list) < most && s.Scan() {
		var a answer
		if err := json.Unmarshal(s.Bytes(), &a); err != nil {
			return list, &CLAPRefusedError{Path: path, Text: "its description is no JSON"}
		}
		if len(a.List) > maxPlugins {
			return list, &CLAPRefusedError{Path: path, Text: "too many plug-ins"}
		}
		for i := range a.List {
			p := &a.List[i]
			if p.ID == "" || !sane(p.ID, maxPlugText) || !sane(p.Name, 2*maxPlugText) || !sane(p.Vendor, 2*maxPlugText) || !sane(p.Version, 2*maxPlugText) {
				return list, &CLAPRefusedError{Path: path, Text: "a plug-in's id or name is no text"}
			}
		}
		if a.Plugin != nil {
			if err := a.Plugin.check(path); err != nil {
				a = answer{Error: textOf(err)}
			}
		}
		a.Error = clean(a.Error)
		list = append(list, a)
	}
	if s.Err() != nil {
		return list, &CLAPRefusedError{Path: path, Text: s.Err().Error()}
	}
	return list, nil
}
