package command

import "atenia/internal/toml"

// Settings decodes a file of settings, which is TOML. An error is one of usage.
func Settings(b []byte, into any) error {
	if _, err := toml.Decode(b, into); err != nil {
		return &UsageError{Err: err}
	}
	return nil
}
