import { OTHER_MESSAGES } from './profile-messages.ts'

/** A field of the profile: `value = raw / scale - offset`, in its unit. `isTime`: FIT seconds of a moment. */
export type ProfileField = Readonly<{
  name: string
  scale: number
  offset: number
  isList: boolean
  isTime: boolean
}>
export type ProfileMessage = Readonly<{ name: string; fields: ReadonlyMap<number, ProfileField> }>

/** The messages of the profile whose fields are read, by their numbers. */
export const MESSAGES: ReadonlyMap<number, ProfileMessage> = new Map(
  (
    [
      [0, 'fileId', `type, manufacturer, product, serialNumber, timeCreated@, number, 8 productName`],
      [
        18,
        'session',
        `event, eventType, startTime@, startPositionLat, startPositionLong, sport, subSport, totalElapsedTime/1000,
  totalTimerTime/1000, totalDistance/100, totalCycles, totalCalories, 13 totalFatCalories, avgSpeed/1000, maxSpeed/1000,
  avgHeartRate, maxHeartRate, avgCadence, maxCadence, avgPower, maxPower, totalAscent, totalDescent, totalTrainingEffect/10,
  firstLapIndex, numLaps, eventGroup, trigger, necLat, necLong, swcLat, swcLong, numLengths, normalizedPower,
  trainingStressScore/10, intensityFactor/1000, leftRightBalance, endPositionLat, endPositionLong, 41 avgStrokeCount/10,
  avgStrokeDistance/100, swimStroke, poolLength/100, thresholdPower, poolLengthUnit, numActiveLengths, totalWork,
  avgAltitude/5-500, maxAltitude/5-500, gpsAccuracy, avgGrade/100, avgPosGrade/100, avgNegGrade/100, maxPosGrade/100,
  maxNegGrade/100, avgTemperature, maxTemperature, totalMovingTime/1000, avgPosVerticalSpeed/1000, avgNegVerticalSpeed/1000,
  maxPosVerticalSpeed/1000, maxNegVerticalSpeed/1000, minHeartRate, timeInHrZone[]/1000, timeInSpeedZone[]/1000,
  timeInCadenceZone[]/1000, timeInPowerZone[]/1000, avgLapTime/1000, bestLapIndex, minAltitude/5-500, 78 activeTime/1000,
  avgStrokesPerLength/10, avgSwolf, 82 playerScore, opponentScore, opponentName, strokeCount[], zoneCount[], maxBallSpeed/100,
  avgBallSpeed/100, avgVerticalOscillation/10, avgStanceTimePercent/100, avgStanceTime/10, avgFractionalCadence/128,
  maxFractionalCadence/128, totalFractionalCycles/128, avgTotalHemoglobinConc[]/100, minTotalHemoglobinConc[]/100,
  maxTotalHemoglobinConc[]/100, avgSaturatedHemoglobinPercent[]/10, minSaturatedHemoglobinPercent[]/10,
  maxSaturatedHemoglobinPercent[]/10, avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2,
  avgRightPedalSmoothness/2, avgCombinedPedalSmoothness/2, numSegmentLaps, frontGearShiftCount, rearGearShiftCount,
  110 sportProfileName, sportIndex, timeStanding/1000, standCount, avgLeftPco, avgRightPco, avgLeftPowerPhase[]/0.7111111,
  avgLeftPowerPhasePeak[]/0.7111111, avgRightPowerPhase[]/0.7111111, avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[],
  maxPowerPosition[], avgCadencePosition[], maxCadencePosition[], enhancedAvgSpeed/1000, enhancedMaxSpeed/1000,
  enhancedAvgAltitude/5-500, enhancedMinAltitude/5-500, enhancedMaxAltitude/5-500, avgLevMotorPower, maxLevMotorPower,
  levBatteryConsumption/2, avgVerticalRatio/100, avgStanceTimeBalance/100, avgStepLength/10,
  137 totalAnaerobicTrainingEffect/10, 139 avgVam/1000, avgDepth/1000, maxDepth/1000, surfaceInterval, startCns, endCns,
  startN2, endN2, avgRespirationRate, maxRespirationRate, minRespirationRate, minTemperature, 155 o2Toxicity, diveNumber,
  168 trainingLoadPeak/65536, enhancedAvgRespirationRate/100, enhancedMaxRespirationRate/100,
  180 enhancedMinRespirationRate/100, totalGrit, totalFlow, jumpCount, 186 avgGrit, avgFlow, 192 workoutFeel, workoutRpe,
  avgSpo2, avgStress, metabolicCalories, sdrrHrv, rmssdHrv, totalFractionalAscent/100, totalFractionalDescent/100,
  208 avgCoreTemperature/100, minCoreTemperature/100, maxCoreTemperature/100, avgGradeAdjustedSpeed/1000, 253 timestamp@,
  messageIndex`,
      ],
      [
        19,
        'lap',
        `event, eventType, startTime@, startPositionLat, startPositionLong, endPositionLat, endPositionLong, totalElapsedTime/1000,
  totalTimerTime/1000, totalDistance/100, totalCycles, totalCalories, totalFatCalories, avgSpeed/1000, maxSpeed/1000,
  avgHeartRate, maxHeartRate, avgCadence, maxCadence, avgPower, maxPower, totalAscent, totalDescent, intensity, lapTrigger,
  sport, eventGroup, necLat, necLong, swcLat, swcLong, 32 numLengths, normalizedPower, leftRightBalance, firstLengthIndex,
  37 avgStrokeDistance/100, swimStroke, subSport, numActiveLengths, totalWork, avgAltitude/5-500, maxAltitude/5-500,
  gpsAccuracy, avgGrade/100, avgPosGrade/100, avgNegGrade/100, maxPosGrade/100, maxNegGrade/100, avgTemperature,
  maxTemperature, totalMovingTime/1000, avgPosVerticalSpeed/1000, avgNegVerticalSpeed/1000, maxPosVerticalSpeed/1000,
  maxNegVerticalSpeed/1000, timeInHrZone[]/1000, timeInSpeedZone[]/1000, timeInCadenceZone[]/1000, timeInPowerZone[]/1000,
  repetitionNum, minAltitude/5-500, minHeartRate, 70 activeTime/1000, wktStepIndex, 73 avgSwolf, opponentScore, strokeCount[],
  zoneCount[], avgVerticalOscillation/10, avgStanceTimePercent/100, avgStanceTime/10, avgFractionalCadence/128,
  maxFractionalCadence/128, totalFractionalCycles/128, playerScore, avgTotalHemoglobinConc[]/100,
  minTotalHemoglobinConc[]/100, maxTotalHemoglobinConc[]/100, avgSaturatedHemoglobinPercent[]/10,
  minSaturatedHemoglobinPercent[]/10, maxSaturatedHemoglobinPercent[]/10, avgStrokesPerLength/10,
  avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2, avgRightPedalSmoothness/2,
  avgCombinedPedalSmoothness/2, frontGearShiftCount, rearGearShiftCount, timeStanding/1000, standCount, avgLeftPco,
  avgRightPco, avgLeftPowerPhase[]/0.7111111, avgLeftPowerPhasePeak[]/0.7111111, avgRightPowerPhase[]/0.7111111,
  avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[], maxPowerPosition[], avgCadencePosition[], maxCadencePosition[],
  enhancedAvgSpeed/1000, enhancedMaxSpeed/1000, enhancedAvgAltitude/5-500, enhancedMinAltitude/5-500,
  enhancedMaxAltitude/5-500, avgLevMotorPower, maxLevMotorPower, levBatteryConsumption/2, avgVerticalRatio/100,
  avgStanceTimeBalance/100, avgStepLength/10, avgVam/1000, avgDepth/1000, maxDepth/1000, minTemperature,
  136 enhancedAvgRespirationRate/100, enhancedMaxRespirationRate/100, 147 avgRespirationRate, maxRespirationRate, totalGrit,
  totalFlow, jumpCount, 153 avgGrit, avgFlow, metabolicCalories, totalFractionalAscent/100, totalFractionalDescent/100,
  avgCoreTemperature/100, minCoreTemperature/100, maxCoreTemperature/100, avgGradeAdjustedSpeed/1000, 253 timestamp@,
  messageIndex`,
      ],
      [
        20,
        'record',
        `positionLat, positionLong, altitude/5-500, heartRate, cadence, distance/100, speed/1000, power, compressedSpeedDistance[],
  grade/100, resistance, timeFromCourse/1000, cycleLength/100, temperature, 17 speed1s[]/16, cycles, totalCycles,
  28 compressedAccumulatedPower, accumulatedPower, leftRightBalance, gpsAccuracy, verticalSpeed/1000, calories,
  39 verticalOscillation/10, stanceTimePercent/100, stanceTime/10, activityType, leftTorqueEffectiveness/2,
  rightTorqueEffectiveness/2, leftPedalSmoothness/2, rightPedalSmoothness/2, combinedPedalSmoothness/2, time128/128,
  strokeType, zone, ballSpeed/100, cadence256/256, fractionalCadence/128, totalHemoglobinConc/100, totalHemoglobinConcMin/100,
  totalHemoglobinConcMax/100, saturatedHemoglobinPercent/10, saturatedHemoglobinPercentMin/10,
  saturatedHemoglobinPercentMax/10, 62 deviceIndex, 67 leftPco, rightPco, leftPowerPhase[]/0.7111111,
  leftPowerPhasePeak[]/0.7111111, rightPowerPhase[]/0.7111111, rightPowerPhasePeak[]/0.7111111, enhancedSpeed/1000,
  78 enhancedAltitude/5-500, 81 batterySoc/2, motorPower, verticalRatio/100, stanceTimeBalance/100, stepLength/10,
  87 cycleLength16/100, 91 absolutePressure, depth/1000, nextStopDepth/1000, nextStopTime, timeToSurface, ndlTime, cnsLoad,
  n2Load, respirationRate, 108 enhancedRespirationRate/100, 114 grit, flow, currentStress/100, ebikeTravelRange,
  ebikeBatteryLevel, ebikeAssistMode, ebikeAssistLevelPercent, 123 airTimeRemaining, pressureSac/100, volumeSac/100, rmv/100,
  ascentRate/1000, 129 po2/100, 139 coreTemperature/100, 253 timestamp@`,
      ],
      [
        23,
        'deviceInfo',
        `deviceIndex, deviceType, manufacturer, serialNumber, product, softwareVersion/100, hardwareVersion, cumOperatingTime,
  10 batteryVoltage/256, batteryStatus, 18 sensorPosition, descriptor, antTransmissionType, antDeviceNumber, antNetwork,
  25 sourceType, 27 productName, 32 batteryLevel, 253 timestamp@`,
      ],
      [
        34,
        'activity',
        `totalTimerTime/1000, numSessions, type, event, eventType, localTimestamp, eventGroup, 253 timestamp@`,
      ],
      [49, 'fileCreator', `softwareVersion, hardwareVersion`],
      [
        206,
        'fieldDescription',
        `developerDataIndex, fieldDefinitionNumber, fitBaseTypeId, fieldName, array, components, scale, offset, units, bits,
  accumulate, 13 fitBaseUnitId, nativeMesgNum, nativeFieldNum`,
      ],
      [
        207,
        'developerDataId',
        `developerId[], applicationId[], manufacturerId, developerDataIndex, applicationVersion`,
      ],
      ...OTHER_MESSAGES,
    ] as const
  ).map(([number, name, fields]) => [number, { name, fields: parseFields(fields) }]),
)

/**
 * Reads a list of fields with consecutive numbers; a number before a name is that of the field. `[]`: it holds a list, `@`: a
 * moment, `/N`: its scale, `-N`: its offset, which may be negative.
 */
function parseFields(list: string): ReadonlyMap<number, ProfileField> {
  const fields = new Map<number, ProfileField>()
  let number = 0
  for (const entry of list.split(/,\s+/)) {
    const [, at, name = '', isList, isTime, scale = '1', offset = '0'] =
      /^(?:(\d+) )?(\w+)(\[\])?(@)?(?:\/([\d.]+))?(?:-(-?\d+))?$/.exec(entry) ?? []
    if (at !== undefined) number = Number(at)
    const kind = { isList: isList !== undefined, isTime: isTime !== undefined }
    fields.set(number++, { name, scale: Number(scale), offset: Number(offset), ...kind })
  }
  return fields
}
