package place

// A ReplayReport is what came out of a log.
type ReplayReport struct {
	Records     int                `json:"records"`
	Differences []ReplayDifference `json:"differences"`
	// Whole says that the log has its end mark. Otherwise Cut says where it ends:
	// its writer was killed, or still runs. The records that it has were replayed.
	Whole bool  `json:"whole"`
	Cut   error `json:"-"`
}

// A ReplayDifference is a record that did not come out as it stands in the log.
type ReplayDifference struct {
	Line      int           `json:"line"` // from 1
	Seq       uint64        `json:"seq"`
	Component string        `json:"component"`
	Fields    []ReplayField `json:"fields"`
}

// A ReplayField is a field that differs. Where a record cannot be made again,
// there is one whose name is "error".
type ReplayField struct {
	Name     string `json:"field"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}
