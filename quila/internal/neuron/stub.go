package neuron

// messages is step 1 by messages that are rounded to E4M3.
func (u *turn[F]) messages() { panic("later") }

func (v *reverse[F]) messages(dx []F) { panic("later") }

func (g *Grid[F]) collectMessages(dcells []F, l *lane[F], sp *space[F], n int) { panic("later") }
