/** Message and field numbers of the FIT profile. */
export const FILE_ID = { message: 0, type: 0, createdAt: 4 }
export const SPORT = { message: 12, sport: 0 }
export const SESSION = { message: 18, startedAt: 2, sport: 5, timer: 8 }
export const LAP = { message: 19 }
export const RECORD = { message: 20 }
export const EVENT = { message: 21, frontGearChange: 42, rearGearChange: 43 }
export const HR = { message: 132 }
export const HRV = { message: 78, time: 0 }
export const DEVICE_INFO = { message: 23 }
export const ACTIVITY = { message: 34, localTime: 5 }
export const FILE_CREATOR = { message: 49 }
export const FIELD_DESCRIPTION = { message: 206 }
export const DEVELOPER_DATA_ID = { message: 207 }
/** The field number of the timestamp in messages of every kind. */
export const TIMESTAMP = 253

export const ACTIVITY_FILE = 4
export const WORKOUT_FILE = 5
/** Manufacturer of files that no registered manufacturer has made. */
export const DEVELOPMENT = 255

/** Start of FIT time, seconds since 1970: 31 December 1989, UTC. */
export const FIT_EPOCH_S = 631_065_600
/** A FIT time below this number counts seconds since the device was switched on, so it gives no date. */
export const FIRST_ABSOLUTE_TIME = 0x10000000
/** The FIT time that means no time. */
export const NO_TIME = 0xffffffff

/** Types of FIT files in plain words, by number. */
export const FILE_TYPES =
  namesByNumber(`1, device, settings, sport, activity, workout, course, schedules, 9, weight, totals,
  goals, 14, blood pressure, monitoring a, 20, activity summary, 28, monitoring daily, 32, monitoring b, 34, segment,
  segment list, 40, exd configuration`)

/** Names of sports in the FIT profile, by number. */
export const SPORTS =
  namesByNumber(`0, generic, running, cycling, transition, fitnessEquipment, swimming, basketball, soccer,
  tennis, americanFootball, training, walking, crossCountrySkiing, alpineSkiing, snowboarding, rowing, mountaineering, hiking,
  multisport, paddling, flying, eBiking, motorcycling, boating, driving, golf, hangGliding, horsebackRiding, hunting, fishing,
  inlineSkating, rockClimbing, sailing, iceSkating, skyDiving, snowshoeing, snowmobiling, standUpPaddleboarding, surfing,
  wakeboarding, waterSkiing, kayaking, rafting, windsurfing, kitesurfing, tactical, jumpmaster, boxing, floorClimbing, baseball,
  53, diving, 56, shooting, 58, winterSport, grinding, 62, hiit, videoGaming, racket, wheelchairPushWalk, wheelchairPushRun,
  meditation, paraSport, discGolf, teamSport, cricket, rugby, hockey, lacrosse, volleyball, waterTubing, wakesurfing, waterSport,
  archery, mixedMartialArts, motorSports, snorkeling, dance, jumpRope, poolApnea, mobility, geocaching, canoeing, 254, all`)

/** Parses a list of names with consecutive numbers. A number in the list belongs to the name after it. */
export function namesByNumber(list: string): ReadonlyMap<number, string> {
  const names = new Map<number, string>()
  let number = 0
  for (const entry of list.split(/,\s+/)) {
    if (/^\d+$/.test(entry)) number = Number(entry)
    else names.set(number++, entry)
  }
  return names
}
