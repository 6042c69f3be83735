package hw

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"atenia/internal/store/durable"
)

// A Profile is the measured speed of one storage device. Rates are bytes per
// second, 0 if not measured.
type Profile struct {
	Device       string `json:"device"`
	EpochSeconds uint64 `json:"measured_epoch_s"`
	Depth        Depth  `json:"depth"`

	ReadBytes      float64 `json:"read_bytes_per_second"`  // sequential, several large reads in flight
	ReadP99Seconds float64 `json:"read_p99_seconds"`       // of such a read
	WriteBytes     float64 `json:"write_bytes_per_second"` // sequential, including the sync
	RandomReads    float64 `json:"random_reads_per_second"`
	LatencySeconds float64 `json:"latency_seconds"` // mean, of a small read
	LatencyP99     float64 `json:"latency_p99_seconds"`
	TouchBytes     float64 `json:"first_touch_bytes_per_second"` // first write to fresh memory (page faults)
}

// profileFields names the numbers of a profile, in file order.
var profileFields = []struct {
	name string
	at   func(*Profile) *float64
}{
	{"read", func(p *Profile) *float64 { return &p.ReadBytes }},
	{"read_p99", func(p *Profile) *float64 { return &p.ReadP99Seconds }},
	{"write", func(p *Profile) *float64 { return &p.WriteBytes }},
	{"random", func(p *Profile) *float64 { return &p.RandomReads }},
	{"latency", func(p *Profile) *float64 { return &p.LatencySeconds }},
	{"latency_p99", func(p *Profile) *float64 { return &p.LatencyP99 }},
	{"touch", func(p *Profile) *float64 { return &p.TouchBytes }},
}

// The file of profiles is text: a line with the format, a line for each device,
// sorted, and the CRC-32C of these lines.
//
//	atenia storage profiles 1
//	"254:0 ext4 528424960" 1795600000 full read=1.65e+09 … touch=5e+08
//	crc32c 1f2e3d4c
const (
	profilesName    = "storage-profiles"
	profilesMagic   = "atenia storage profiles "
	profilesVersion = 1

	maxProfiles      = 64
	maxProfilesBytes = 64 << 10
	maxProfileAge    = 30 * 24 * time.Hour // disks fill up, wear out and are replaced
)

// errNewerProfiles says that a newer version wrote the profiles.
var errNewerProfiles = errors.New("written by a newer version")

// A profileError says where a file of profiles is corrupt.
type profileError struct {
	Line int // from 1
	Why  string
	Err  error
}

func (e *profileError) Error() string {
	s := fmt.Sprintf("storage profiles: line %d: %s", e.Line, e.Why)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *profileError) Unwrap() error { return e.Err }

// profiles holds one file, sorted by device.
type profiles struct {
	list   []Profile
	frozen bool // a newer version wrote the file: do not replace it
}

// readProfiles reads a file; a missing file is empty. If there is an error, it
// returns no profiles, so that storage is measured again.
func readProfiles(fsys durable.FS, path string) (profiles, error) {
	b, err := readUpTo(fsys, path, maxProfilesBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return profiles{}, nil
	}
	if err != nil {
		return profiles{frozen: true}, err
	}
	p, err := parseProfiles(b)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

// readUpTo reads so many bytes of a file at most.
func readUpTo(fsys durable.FS, path string, most int64) ([]byte, error) {
	f, err := durable.Default(fsys).OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// find returns the profile of a device unless it is too old.
func (p profiles) find(device string, now time.Time) *Profile {
	for i := range p.list {
		at := time.Unix(int64(min(p.list[i].EpochSeconds, math.MaxInt64)), 0)
		if age := now.Sub(at); p.list[i].Device == device && age >= 0 && age < maxProfileAge {
			found := p.list[i]
			return &found
		}
	}
	return nil
}

// keep adds a profile to the file. It replaces the device's old one or, if there
// are too many, the oldest.
func (p profiles) keep(fsys durable.FS, path string, pr Profile) error {
	if p.frozen {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(p.list), func(q Profile) bool { return q.Device == pr.Device })
	if len(list) >= maxProfiles {
		oldest := slices.MinFunc(list, func(a, b Profile) int {
			return int(min(a.EpochSeconds, math.MaxInt64)) - int(min(b.EpochSeconds, math.MaxInt64))
		})
		list = slices.DeleteFunc(list, func(q Profile) bool { return q.Device == oldest.Device })
	}
	list = append(list, pr)
	slices.SortFunc(list, func(a, b Profile) int { return strings.Compare(a.Device, b.Device) })
	return durable.ReplaceIn(fsys, path, func(w io.Writer) error {
		_, err := w.Write(printProfiles(list))
		return err
	})
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// printProfiles writes what parseProfiles reads.
func printProfiles(list []Profile) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", profilesMagic, profilesVersion)
	for i := range list {
		p := &list[i]
		fmt.Fprintf(&b, "%s %d %s", strconv.QuoteToASCII(p.Device), p.EpochSeconds, p.Depth)
		for _, f := range profileFields {
			fmt.Fprintf(&b, " %s=%s", f.name, strconv.FormatFloat(*f.at(p), 'g', -1, 64))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "crc32c %08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

func parseProfiles(b []byte) (profiles, error) {
	if len(b) > maxProfilesBytes {
		return profiles{}, &profileError{1, fmt.Sprintf("want at most %d bytes", maxProfilesBytes), nil}
	}
	lines := strings.SplitAfter(string(b), "\n")
	version, ok := strings.CutPrefix(lines[0], profilesMagic)
	if !ok {
		return profiles{}, &profileError{1, fmt.Sprintf("want %q", profilesMagic+"1"), nil}
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(version, "\n")); err == nil && n > profilesVersion {
		return profiles{frozen: true}, &profileError{1, "version " + strconv.Itoa(n), errNewerProfiles}
	}
	last := len(lines) - 2 // an empty string follows the last line
	if version != "1\n" || last < 1 || lines[last+1] != "" {
		return profiles{}, &profileError{len(lines), "the file is cut", nil}
	}
	if want := fmt.Sprintf("crc32c %08x\n", crc32.Checksum(b[:len(b)-len(lines[last])], castagnoli)); lines[last] != want {
		return profiles{}, &profileError{last + 1, fmt.Sprintf("want %q, got %q", want, lines[last]), nil}
	}
	var p profiles
	for i, line := range lines[1:last] {
		pr, err := parseProfile(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return profiles{}, &profileError{i + 2, "not a profile", err}
		}
		if n := len(p.list); n >= maxProfiles || n > 0 && p.list[n-1].Device >= pr.Device {
			return profiles{}, &profileError{i + 2, fmt.Sprintf("want at most %d devices, sorted", maxProfiles), nil}
		}
		p.list = append(p.list, pr)
	}
	return p, nil
}

func parseProfile(line string) (p Profile, err error) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return p, err
	}
	if p.Device, err = strconv.Unquote(quoted); err != nil {
		return p, err
	}
	if strconv.QuoteToASCII(p.Device) != quoted {
		return p, fmt.Errorf("want the device as %s", strconv.QuoteToASCII(p.Device))
	}
	words := strings.Split(line[len(quoted):], " ")
	if len(words) != 3+len(profileFields) || words[0] != "" {
		return p, fmt.Errorf("want %d fields, got %d", 3+len(profileFields), len(words))
	}
	if p.EpochSeconds, err = strconv.ParseUint(words[1], 10, 64); err != nil {
		return p, err
	}
	if err = p.Depth.UnmarshalText([]byte(words[2])); err != nil {
		return p, err
	}
	for i, f := range profileFields {
		text, ok := strings.CutPrefix(words[3+i], f.name+"=")
		v, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(v >= 0) || math.IsInf(v, 0) {
			return p, fmt.Errorf("want %s=NUMBER, got %q", f.name, words[3+i])
		}
		*f.at(&p) = v
	}
	return p, nil
}
