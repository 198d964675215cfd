package bench

import "strconv"

var (
	kinds     = []string{"page_view", "click", "scroll", "purchase", "login", "logout", "search", "add_to_cart"}
	platforms = []string{"web", "ios", "android"}
	countries = []string{"US", "GB", "DE", "FR", "JP", "BR", "IN", "CA", "AU", "SE", "NL", "ES", "IT", "PL", "MX"}
	agents    = []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
	}
)

const stamp = "2006-01-02T15:04:05.000Z"

// flat appends an event of a web shop.
func (d *draw) flat(b []byte, _ int64) []byte {
	b = append(key(append(b, '{'), "event_id"), '"')
	b = append(d.uuid(b), '"')
	b = str(b, "ts", d.at.Format(stamp))
	b = str(b, "event", d.favorite(kinds))
	b = num(b, "user_id", int64(100_000+d.skewed(2_000_000)))
	b = append(key(b, "session"), `"s_`...)
	b = append(d.hex(b, 12), '"')
	b = str(b, "platform", d.pick(platforms))
	b = str(b, "country", d.favorite(countries))
	b = append(key(b, "url"), '"')
	b = append(d.url(b), '"')
	b = num(b, "duration_ms", int64(d.IntN(60_000)))
	b = key(b, "price")
	if d.IntN(4) == 0 {
		b = strconv.AppendFloat(b, float64(d.IntN(50_000))/100, 'f', -1, 64)
	} else {
		b = append(b, "null"...)
	}
	b = strconv.AppendFloat(key(b, "score"), d.Float64(), 'f', 6, 64)
	b = strconv.AppendBool(key(b, "logged_in"), d.IntN(3) > 0)
	if d.IntN(3) > 0 {
		b = str(b, "campaign", "cmp-"+strconv.Itoa(d.skewed(500)))
	}
	return append(str(b, "user_agent", d.pick(agents)), '}')
}

func (d *draw) url(b []byte) []byte {
	b = append(append(b, "https://shop.example.com/"...), d.pick(words[:plainWords])...)
	b = append(append(b, '/'), d.pick(words[:plainWords])...)
	b = strconv.AppendInt(append(b, "?item="...), int64(d.skewed(200_000)), 10)
	return append(b, "&ref=home"...)
}

const csvHeader = "event_id,ts,event,user_id,session,platform,country,url,duration_ms,price,score,logged_in,campaign,user_agent\n"

// csv appends such an event as a line of CSV. The agents hold commas, so that
// they are quoted.
func (d *draw) csv(b []byte, _ int64) []byte {
	b = append(d.uuid(b), ',')
	b = append(d.at.AppendFormat(b, stamp), ',')
	b = append(append(b, d.favorite(kinds)...), ',')
	b = append(strconv.AppendInt(b, int64(100_000+d.skewed(2_000_000)), 10), ",s_"...)
	b = append(d.hex(b, 12), ',')
	b = append(append(b, d.pick(platforms)...), ',')
	b = append(append(b, d.favorite(countries)...), ',')
	b = append(d.url(b), ',')
	b = append(strconv.AppendInt(b, int64(d.IntN(60_000)), 10), ',')
	if d.IntN(4) == 0 {
		b = strconv.AppendFloat(b, float64(d.IntN(50_000))/100, 'f', -1, 64)
	}
	b = strconv.AppendFloat(append(b, ','), d.Float64(), 'f', -1, 64)
	b = strconv.AppendBool(append(b, ','), d.IntN(3) > 0)
	b = append(b, ',')
	if d.IntN(3) > 0 {
		b = strconv.AppendInt(append(b, "cmp-"...), int64(d.skewed(500)), 10)
	}
	b = append(append(b, `,"`...), d.pick(agents)...)
	return append(b, '"')
}
