package quila

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"atenia/internal/cli/command"
	"atenia/internal/store/durable"
	"atenia/quila"
	"atenia/quila/config"

	"github.com/spf13/cobra"
)

// largestConfig bounds the file of a configuration.
const largestConfig = 1 << 20

// A source is where a configuration comes from.
type source struct{ profile, file string }

// Profiles returns what a configuration may start from, by name.
func Profiles() []string { return config.Profiles() }

// flags adds the flags that name a configuration.
func (s *source) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.profile, "profile", "nano", "`PROFILE` to start from: "+strings.Join(config.Profiles(), ", "))
	c.Flags().StringVar(&s.file, "config", "", "JSON `FILE` with values that differ from its profile")
}

// read returns the configuration that the flags name.
func (s *source) read(c *cobra.Command) (config.Config, error) {
	if s.file == "" {
		p, err := config.Profile(s.profile)
		if err != nil {
			return p, &command.UsageError{Err: err}
		}
		return p, nil
	}
	if c.Flags().Changed("profile") {
		return config.Config{}, command.Usagef("--profile and --config: the file names its profile, give one of them")
	}
	f, err := durable.Open(s.file)
	if err != nil {
		return config.Config{}, err
	}
	defer f.Close()
	text, err := command.ReadMost(f, largestConfig)
	if err != nil {
		return config.Config{}, fmt.Errorf("%s: %w", s.file, err)
	}
	p, err := config.Parse(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", s.file, err)
	}
	return p, nil
}

func plan(env *command.Env) *cobra.Command {
	var src source
	var devices, link string
	var entries bool
	c := &cobra.Command{
		Use:   "plan",
		Short: "Print what a network needs, and why",
		Long: "Print weights, bytes, work and time of a network, each with what it follows from. Nothing is allocated. With\n" +
			"--devices also print which uses the devices have room for, and check the calls that their driver would get.\n\n" +
			"--values lists every name of the configuration with its value and source: spec for the specification's own\n" +
			"value, measured, start for a value that has not been measured, config for one that differs from the profile.",
		Example: "  atenia quila plan --profile 13b\n" +
			"  atenia quila plan --profile 13b --devices 4x80 --link pcie",
		Args: cobra.NoArgs,
	}
	src.flags(c)
	c.Flags().StringVar(&devices, "devices", "", "`N` or NxGB: devices and the memory of each (80 GB unless said)")
	c.Flags().StringVar(&link, "link", "nvlink", "how devices reach each other: nvlink or pcie")
	c.Flags().BoolVar(&entries, "values", false, "list the names of the configuration instead")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := src.read(c)
		if err != nil {
			return err
		}
		d, err := parseDevices(devices)
		if err != nil {
			return err
		}
		if link != "nvlink" && link != "pcie" {
			return command.Usagef("--link %s: want nvlink or pcie", link)
		}
		d.NVLink = link == "nvlink"
		p, err := quila.NewPlan(cfg, d)
		if err != nil {
			return err
		}
		switch {
		case entries && *env.JSON:
			return env.PrintJSON(p.Entries)
		case *env.JSON:
			return env.PrintJSON(p)
		case entries:
			return values(env, p.Entries)
		}
		if err := p.Write(env.Out); err != nil {
			return err
		}
		if p.Schedule != nil && len(p.Schedule.Faults) > 0 {
			return command.ErrVerify
		}
		return nil
	}
	return c
}

// values lists the names of a configuration.
func values(env *command.Env, entries []config.Entry) error {
	t := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", e.Group, e.Name, e.Value, e.Source)
	}
	return t.Flush()
}

// parseDevices reads N or NxGB.
func parseDevices(s string) (config.Devices, error) {
	if s == "" {
		return config.Devices{}, nil
	}
	count, size, ok := strings.Cut(s, "x")
	if !ok {
		size = "80"
	}
	n, err := strconv.Atoi(count)
	gb, err2 := strconv.ParseFloat(size, 64)
	if err != nil || err2 != nil || n < 1 || n > 1<<16 || !(gb > 0 && gb < 1e6) {
		return config.Devices{}, command.Usagef("--devices %s: want a count such as 4, or 4x80 for the gigabytes of each", s)
	}
	return config.Devices{Count: n, Bytes: int64(gb * 1e9)}, nil
}
