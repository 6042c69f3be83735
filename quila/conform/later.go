package conform

// second says that a row belongs to the second part.
const second = "part two: thinking, conflict, topology, self-play, service, devices"

// later are the rows that nothing checks yet.
var later = []experiment{
	{ID: "REQ-22.1.3", Section: "4.1", What: "no copy between devices in 50 ticks with edges that cross", Later: second},
	{ID: "REQ-16.1.1-edges", Section: "4.1", What: "edge counters stay 0 for a tenth of the steps", Later: "part two: edges neither grow nor go"},
	{ID: "SHD-JUDGES", Section: "4.9", What: "two judges or a warning", Later: second},
	{ID: "SHD-MIX", Section: "4.9", What: "the mix is automatic", Later: second},
	{ID: "SHD-BASE", Section: "4.9", What: "Challenger and Solver start from one checkpoint", Later: second},
}
