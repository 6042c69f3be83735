package spelling

import (
	"fmt"
	"math"
	"strconv"
)

// Seconds formats a time in seconds with three digits.
func Seconds(s float64) string {
	if s <= 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(s)))
	return strconv.FormatFloat(s, 'f', min(max(digits, 0), 9), 64)
}

// AfterText says after how long a text a pass takes so many seconds, and what it takes at the
// beginning of one; "" where it takes as long anywhere.
func AfterText(tokens int, then, start float64) string {
	if tokens == 0 || Seconds(then) == Seconds(start) {
		return ""
	}
	return fmt.Sprintf(" after %s of text (%s s at the beginning)", Count(tokens, "token"), Seconds(start))
}

// Unit names what is predicted: "token", or of an encoder "text of 512 tokens".
func Unit(text int) string {
	if text == 0 {
		return "token"
	}
	return "text of " + Count(text, "token")
}

// Assumed says of seconds that their rates were assumed; "" = they were not.
func Assumed(assumed bool) string {
	if assumed {
		return " by rates that were assumed, not measured"
	}
	return ""
}
