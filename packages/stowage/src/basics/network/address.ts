import ipaddr from 'ipaddr.js';

/** The public IPv6 internet so far; ipaddr.js calls the unassigned rest `unicast` as well. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Public by its number, yet the inner gateway of every machine in one large cloud. */
const CLOUD_GATEWAYS = new Set(['168.63.129.16']);

/** Ranges that are not meant when an IPv6 address spells them out. */
const INNER_RANGES = new Set(['loopback', 'private', 'linkLocal', 'carrierGradeNat']);

/** Where RFC 6052 puts the bytes of an IPv4 address after a prefix of 32 to 96 bits; byte 8 stays zero. */
const EMBEDDINGS: readonly (readonly number[])[] = [
  [4, 5, 6, 7],
  [5, 6, 7, 9],
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];

const isPublicIpv4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && !CLOUD_GATEWAYS.has(address.toString());

/** ISATAP (RFC 5214): an IPv4 tunnel whose interface part is 0000:5efe or 0200:5efe and the inner address. */
const isIsatap = (bytes: readonly number[]): boolean =>
  (bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;

/**
 * Whether an address has the form that a translator with a prefix of its own network (RFC 6052) would send to
 * an inner IPv4 address. All bytes after the embedded ones must be zero, and so must the bytes 8 to 11 of the
 * longest form, so that randomly chosen interface numbers do not look alike.
 */
const embedsInnerIpv4 = (bytes: readonly number[]): boolean =>
  EMBEDDINGS.some((places) => {
    const last = Math.max(...places);
    const quiet = [...bytes.keys()].filter((at) => at > last || (last === 15 ? at > 7 && at < 12 : at === 8));
    if (quiet.some((at) => bytes[at] !== 0)) return false;
    const inner = new ipaddr.IPv4(places.map((at) => bytes[at] ?? 0));
    return INNER_RANGES.has(inner.range());
  });

/**
 * Whether an IP address, in any spelling, is a public one that a service may be sent to by its users. False
 * for everything that is not a plain global unicast address: loopback, private, link-local, reserved,
 * documentation, multicast, and IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP).
 * Also false for text that is not an address.
 */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  if (!(address instanceof ipaddr.IPv6) || address.zoneId !== undefined) return false;
  const bytes = address.toByteArray();
  return (
    address.range() === 'unicast' &&
    address.match(GLOBAL_UNICAST) &&
    !isIsatap(bytes) &&
    !embedsInnerIpv4(bytes)
  );
};

/** How far an address reaches: 3 public, 2 private networks, 1 this machine, 0 link-local or reserved. */
export const reachOf = (text: string): 0 | 1 | 2 | 3 => {
  if (isPublicAddress(text)) return 3;
  if (!ipaddr.isValid(text)) return 0;
  // An IPv4 address in IPv6 form reaches as far as the IPv4 address itself.
  const range = ipaddr.process(text).range();
  if (range === 'loopback') return 1;
  return range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat' ? 2 : 0;
};
