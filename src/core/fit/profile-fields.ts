/** A field of the FIT profile: `value = raw / scale - offset`, in its unit. `isTime`: the raw value is a date in FIT seconds. */
export type ProfileField = Readonly<{
  name: string
  scale: number
  offset: number
  isList: boolean
  isTime: boolean
}>
type ProfileMessage = Readonly<{ name: string; fields: ReadonlyMap<number, ProfileField> }>

/**
 * The messages of the FIT profile: number, name and fields of each. Field names have consecutive numbers; a number before a name is the
 * number of that field. `[]` marks a list, `@` a timestamp, `/N` the scale, `-N` the offset, which may be negative.
 */
const PROFILE = `
  0 fileId: type, manufacturer, product, serialNumber, timeCreated@, number, 8 productName
  1 capabilities: languages[], sports[], 21 workoutsSupported, 23 connectivitySupported
  2 deviceSettings: activeTimeZone, utcOffset, timeOffset[], 4 timeMode[], timeZoneOffset[]/4, 12 backlightMode, 36 activityTrackerEnabled,
    39 clockTime@, pagesEnabled[], 46 moveAlertEnabled, dateMode, 55 displayOrientation, mountingSide, defaultPage[], autosyncMinSteps,
    autosyncMinTime, 80 lactateThresholdAutodetectEnabled, 86 bleAutoUploadEnabled, 89 autoSyncFrequency, autoActivityDetect, 94 numberOfScreens,
    smartNotificationDisplayOrientation, 134 tapInterface, 174 tapSensitivity
  3 userProfile: friendlyName, gender, age, height/100, weight/10, language, elevSetting, weightSetting, restingHeartRate,
    defaultMaxRunningHeartRate, defaultMaxBikingHeartRate, defaultMaxHeartRate, hrSetting, speedSetting, distSetting, 16 powerSetting,
    activityClass, positionSetting, 21 temperatureSetting, localId, globalId[], 28 wakeTime, sleepTime, heightSetting, userRunningStepLength/1000,
    userWalkingStepLength/1000, 47 depthSetting, 49 diveCount, 254 messageIndex
  4 hrmProfile: enabled, hrmAntId, logHrv, hrmAntIdTransType, 254 messageIndex
  5 sdmProfile: enabled, sdmAntId, sdmCalFactor/10, odometer/100, speedSource, sdmAntIdTransType, 7 odometerRollover, 254 messageIndex
  6 bikeProfile: name, sport, subSport, odometer/100, bikeSpdAntId, bikeCadAntId, bikeSpdcadAntId, bikePowerAntId, customWheelsize/1000,
    autoWheelsize/1000, bikeWeight/10, powerCalFactor/10, autoWheelCal, autoPowerZero, id, spdEnabled, cadEnabled, spdcadEnabled, powerEnabled,
    crankLength/2--110, enabled, bikeSpdAntIdTransType, bikeCadAntIdTransType, bikeSpdcadAntIdTransType, bikePowerAntIdTransType,
    37 odometerRollover, frontGearNum, frontGear[], rearGearNum, rearGear[], 44 shimanoDi2Enabled, 254 messageIndex
  7 zonesTarget: 1 maxHeartRate, thresholdHeartRate, functionalThresholdPower, 5 hrCalcType, 7 pwrCalcType
  8 hrZone: 1 highBpm, name, 254 messageIndex
  9 powerZone: 1 highValue, name, 254 messageIndex
  10 metZone: 1 highBpm, calories/10, fatCalories/10, 254 messageIndex
  12 sport: sport, subSport, 3 name
  13 trainingSettings: 31 targetDistance/100, targetSpeed/1000, targetTime, 153 preciseTargetSpeed/1000000
  15 goal: sport, subSport, startDate@, endDate@, type, value, repeat, targetValue, recurrence, recurrenceValue, enabled, source, 254 messageIndex
  18 session: event, eventType, startTime@, startPositionLat, startPositionLong, sport, subSport, totalElapsedTime/1000, totalTimerTime/1000,
    totalDistance/100, totalCycles, totalCalories, 13 totalFatCalories, avgSpeed/1000, maxSpeed/1000, avgHeartRate, maxHeartRate, avgCadence,
    maxCadence, avgPower, maxPower, totalAscent, totalDescent, totalTrainingEffect/10, firstLapIndex, numLaps, eventGroup, trigger, necLat, necLong,
    swcLat, swcLong, numLengths, normalizedPower, trainingStressScore/10, intensityFactor/1000, leftRightBalance, endPositionLat, endPositionLong,
    41 avgStrokeCount/10, avgStrokeDistance/100, swimStroke, poolLength/100, thresholdPower, poolLengthUnit, numActiveLengths, totalWork,
    avgAltitude/5-500, maxAltitude/5-500, gpsAccuracy, avgGrade/100, avgPosGrade/100, avgNegGrade/100, maxPosGrade/100, maxNegGrade/100,
    avgTemperature, maxTemperature, totalMovingTime/1000, avgPosVerticalSpeed/1000, avgNegVerticalSpeed/1000, maxPosVerticalSpeed/1000,
    maxNegVerticalSpeed/1000, minHeartRate, timeInHrZone[]/1000, timeInSpeedZone[]/1000, timeInCadenceZone[]/1000, timeInPowerZone[]/1000,
    avgLapTime/1000, bestLapIndex, minAltitude/5-500, 78 activeTime/1000, avgStrokesPerLength/10, avgSwolf, 82 playerScore, opponentScore,
    opponentName, strokeCount[], zoneCount[], maxBallSpeed/100, avgBallSpeed/100, avgVerticalOscillation/10, avgStanceTimePercent/100,
    avgStanceTime/10, avgFractionalCadence/128, maxFractionalCadence/128, totalFractionalCycles/128, avgTotalHemoglobinConc[]/100,
    minTotalHemoglobinConc[]/100, maxTotalHemoglobinConc[]/100, avgSaturatedHemoglobinPercent[]/10, minSaturatedHemoglobinPercent[]/10,
    maxSaturatedHemoglobinPercent[]/10, avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2,
    avgRightPedalSmoothness/2, avgCombinedPedalSmoothness/2, numSegmentLaps, frontGearShiftCount, rearGearShiftCount, 110 sportProfileName,
    sportIndex, timeStanding/1000, standCount, avgLeftPco, avgRightPco, avgLeftPowerPhase[]/0.7111111, avgLeftPowerPhasePeak[]/0.7111111,
    avgRightPowerPhase[]/0.7111111, avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[], maxPowerPosition[], avgCadencePosition[],
    maxCadencePosition[], enhancedAvgSpeed/1000, enhancedMaxSpeed/1000, enhancedAvgAltitude/5-500, enhancedMinAltitude/5-500,
    enhancedMaxAltitude/5-500, avgLevMotorPower, maxLevMotorPower, levBatteryConsumption/2, avgVerticalRatio/100, avgStanceTimeBalance/100,
    avgStepLength/10, 137 totalAnaerobicTrainingEffect/10, 139 avgVam/1000, avgDepth/1000, maxDepth/1000, surfaceInterval, startCns, endCns,
    startN2, endN2, avgRespirationRate, maxRespirationRate, minRespirationRate, minTemperature, 155 o2Toxicity, diveNumber,
    168 trainingLoadPeak/65536, enhancedAvgRespirationRate/100, enhancedMaxRespirationRate/100, 180 enhancedMinRespirationRate/100, totalGrit,
    totalFlow, jumpCount, 186 avgGrit, avgFlow, 192 workoutFeel, workoutRpe, avgSpo2, avgStress, metabolicCalories, sdrrHrv, rmssdHrv,
    totalFractionalAscent/100, totalFractionalDescent/100, 208 avgCoreTemperature/100, minCoreTemperature/100, maxCoreTemperature/100,
    avgGradeAdjustedSpeed/1000, 253 timestamp@, messageIndex
  19 lap: event, eventType, startTime@, startPositionLat, startPositionLong, endPositionLat, endPositionLong, totalElapsedTime/1000,
    totalTimerTime/1000, totalDistance/100, totalCycles, totalCalories, totalFatCalories, avgSpeed/1000, maxSpeed/1000, avgHeartRate, maxHeartRate,
    avgCadence, maxCadence, avgPower, maxPower, totalAscent, totalDescent, intensity, lapTrigger, sport, eventGroup, necLat, necLong, swcLat,
    swcLong, 32 numLengths, normalizedPower, leftRightBalance, firstLengthIndex, 37 avgStrokeDistance/100, swimStroke, subSport, numActiveLengths,
    totalWork, avgAltitude/5-500, maxAltitude/5-500, gpsAccuracy, avgGrade/100, avgPosGrade/100, avgNegGrade/100, maxPosGrade/100, maxNegGrade/100,
    avgTemperature, maxTemperature, totalMovingTime/1000, avgPosVerticalSpeed/1000, avgNegVerticalSpeed/1000, maxPosVerticalSpeed/1000,
    maxNegVerticalSpeed/1000, timeInHrZone[]/1000, timeInSpeedZone[]/1000, timeInCadenceZone[]/1000, timeInPowerZone[]/1000, repetitionNum,
    minAltitude/5-500, minHeartRate, 70 activeTime/1000, wktStepIndex, 73 avgSwolf, opponentScore, strokeCount[], zoneCount[],
    avgVerticalOscillation/10, avgStanceTimePercent/100, avgStanceTime/10, avgFractionalCadence/128, maxFractionalCadence/128,
    totalFractionalCycles/128, playerScore, avgTotalHemoglobinConc[]/100, minTotalHemoglobinConc[]/100, maxTotalHemoglobinConc[]/100,
    avgSaturatedHemoglobinPercent[]/10, minSaturatedHemoglobinPercent[]/10, maxSaturatedHemoglobinPercent[]/10, avgStrokesPerLength/10,
    avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2, avgRightPedalSmoothness/2, avgCombinedPedalSmoothness/2,
    frontGearShiftCount, rearGearShiftCount, timeStanding/1000, standCount, avgLeftPco, avgRightPco, avgLeftPowerPhase[]/0.7111111,
    avgLeftPowerPhasePeak[]/0.7111111, avgRightPowerPhase[]/0.7111111, avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[], maxPowerPosition[],
    avgCadencePosition[], maxCadencePosition[], enhancedAvgSpeed/1000, enhancedMaxSpeed/1000, enhancedAvgAltitude/5-500, enhancedMinAltitude/5-500,
    enhancedMaxAltitude/5-500, avgLevMotorPower, maxLevMotorPower, levBatteryConsumption/2, avgVerticalRatio/100, avgStanceTimeBalance/100,
    avgStepLength/10, avgVam/1000, avgDepth/1000, maxDepth/1000, minTemperature, 136 enhancedAvgRespirationRate/100, enhancedMaxRespirationRate/100,
    147 avgRespirationRate, maxRespirationRate, totalGrit, totalFlow, jumpCount, 153 avgGrit, avgFlow, metabolicCalories, totalFractionalAscent/100,
    totalFractionalDescent/100, avgCoreTemperature/100, minCoreTemperature/100, maxCoreTemperature/100, avgGradeAdjustedSpeed/1000, 253 timestamp@,
    messageIndex
  20 record: positionLat, positionLong, altitude/5-500, heartRate, cadence, distance/100, speed/1000, power, compressedSpeedDistance[], grade/100,
    resistance, timeFromCourse/1000, cycleLength/100, temperature, 17 speed1s[]/16, cycles, totalCycles, 28 compressedAccumulatedPower,
    accumulatedPower, leftRightBalance, gpsAccuracy, verticalSpeed/1000, calories, 39 verticalOscillation/10, stanceTimePercent/100, stanceTime/10,
    activityType, leftTorqueEffectiveness/2, rightTorqueEffectiveness/2, leftPedalSmoothness/2, rightPedalSmoothness/2, combinedPedalSmoothness/2,
    time128/128, strokeType, zone, ballSpeed/100, cadence256/256, fractionalCadence/128, totalHemoglobinConc/100, totalHemoglobinConcMin/100,
    totalHemoglobinConcMax/100, saturatedHemoglobinPercent/10, saturatedHemoglobinPercentMin/10, saturatedHemoglobinPercentMax/10, 62 deviceIndex,
    67 leftPco, rightPco, leftPowerPhase[]/0.7111111, leftPowerPhasePeak[]/0.7111111, rightPowerPhase[]/0.7111111, rightPowerPhasePeak[]/0.7111111,
    enhancedSpeed/1000, 78 enhancedAltitude/5-500, 81 batterySoc/2, motorPower, verticalRatio/100, stanceTimeBalance/100, stepLength/10,
    87 cycleLength16/100, 91 absolutePressure, depth/1000, nextStopDepth/1000, nextStopTime, timeToSurface, ndlTime, cnsLoad, n2Load,
    respirationRate, 108 enhancedRespirationRate/100, 114 grit, flow, currentStress/100, ebikeTravelRange, ebikeBatteryLevel, ebikeAssistMode,
    ebikeAssistLevelPercent, 123 airTimeRemaining, pressureSac/100, volumeSac/100, rmv/100, ascentRate/1000, 129 po2/100, 139 coreTemperature/100,
    253 timestamp@
  21 event: event, eventType, data16, data, eventGroup, 7 score, opponentScore, frontGearNum, frontGear, rearGearNum, rearGear, deviceIndex,
    activityType, startTimestamp@, 21 radarThreatLevelMax, radarThreatCount, radarThreatAvgApproachSpeed/10, radarThreatMaxApproachSpeed/10,
    253 timestamp@
  23 deviceInfo: deviceIndex, deviceType, manufacturer, serialNumber, product, softwareVersion/100, hardwareVersion, cumOperatingTime,
    10 batteryVoltage/256, batteryStatus, 18 sensorPosition, descriptor, antTransmissionType, antDeviceNumber, antNetwork, 25 sourceType,
    27 productName, 32 batteryLevel, 253 timestamp@
  26 workout: 4 sport, capabilities, numValidSteps, 8 wktName, 11 subSport, 14 poolLength/100, poolLengthUnit, 17 wktDescription, 254 messageIndex
  27 workoutStep: wktStepName, durationType, durationValue, targetType, targetValue, customTargetValueLow, customTargetValueHigh, intensity, notes,
    equipment, exerciseCategory, exerciseName, exerciseWeight/100, weightDisplayUnit, 19 secondaryTargetType, secondaryTargetValue,
    secondaryCustomTargetValueLow, secondaryCustomTargetValueHigh, 254 messageIndex
  28 schedule: manufacturer, product, serialNumber, timeCreated@, completed, type, scheduledTime
  30 weightScale: weight/100, percentFat/100, percentHydration/100, visceralFatMass/100, boneMass/100, muscleMass/100, 7 basalMet/4, physiqueRating,
    activeMet/4, metabolicAge, visceralFatRating, userProfileIndex, bmi/10, 253 timestamp@
  31 course: 4 sport, name, capabilities, subSport
  32 coursePoint: 1 timestamp@, positionLat, positionLong, distance/100, type, name, 8 favorite, 254 messageIndex
  33 totals: timerTime, distance, calories, sport, elapsedTime, sessions, activeTime, 9 sportIndex, 253 timestamp@, messageIndex
  34 activity: totalTimerTime/1000, numSessions, type, event, eventType, localTimestamp, eventGroup, 253 timestamp@
  35 software: 3 version/100, 5 partNumber, 254 messageIndex
  37 fileCapabilities: type, flags, directory, maxCount, maxSize, 254 messageIndex
  38 mesgCapabilities: file, mesgNum, countType, count, 254 messageIndex
  39 fieldCapabilities: file, mesgNum, fieldNum, count, 254 messageIndex
  49 fileCreator: softwareVersion, hardwareVersion
  51 bloodPressure: systolicPressure, diastolicPressure, meanArterialPressure, map3SampleMean, mapMorningValues, mapEveningValues, heartRate,
    heartRateType, status, userProfileIndex, 253 timestamp@
  53 speedZone: highValue/1000, name, 254 messageIndex
  55 monitoring: deviceIndex, calories, distance/100, cycles/2, activeTime/1000, activityType, activitySubtype, activityLevel, distance16, cycles16,
    activeTime16, localTimestamp, temperature/100, 14 temperatureMin/100, temperatureMax/100, activityTime[], 19 activeCalories,
    24 currentActivityTypeIntensity, timestampMin8, timestamp16, heartRate, intensity/10, durationMin, duration, ascent/1000, descent/1000,
    moderateActivityMinutes, vigorousActivityMinutes, 41 pushes, 253 timestamp@
  72 trainingFile: type, manufacturer, product, serialNumber, timeCreated@, 253 timestamp@
  78 hrv: time[]/1000
  80 antRx: fractionalTimestamp/32768, mesgId, mesgData[], channelNumber, data[], 253 timestamp@
  81 antTx: fractionalTimestamp/32768, mesgId, mesgData[], channelNumber, data[], 253 timestamp@
  82 antChannelId: channelNumber, deviceType, deviceNumber, transmissionType, deviceIndex
  101 length: event, eventType, startTime@, totalElapsedTime/1000, totalTimerTime/1000, totalStrokes, avgSpeed/1000, swimStroke,
    9 avgSwimmingCadence, eventGroup, totalCalories, lengthType, 18 playerScore, opponentScore, strokeCount[], zoneCount[],
    enhancedAvgRespirationRate/100, enhancedMaxRespirationRate/100, avgRespirationRate, maxRespirationRate, metabolicCalories, 253 timestamp@,
    messageIndex
  103 monitoringInfo: localTimestamp, activityType[], 3 cyclesToDistance[]/5000, cyclesToCalories[]/5000, restingMetabolicRate, 253 timestamp@
  104 battery: 2 capacity, 253 timestamp@
  105 pad:
  106 slaveDevice: manufacturer, product
  127 connectivity: bluetoothEnabled, bluetoothLeEnabled, antEnabled, name, liveTrackingEnabled, weatherConditionsEnabled, weatherAlertsEnabled,
    autoActivityUploadEnabled, courseDownloadEnabled, workoutDownloadEnabled, gpsEphemerisDownloadEnabled, incidentDetectionEnabled,
    grouptrackEnabled
  128 weatherConditions: weatherReport, temperature, condition, windDirection, windSpeed/1000, precipitationProbability, temperatureFeelsLike,
    relativeHumidity, location, observedAtTime@, observedLocationLat, observedLocationLong, dayOfWeek, highTemperature, lowTemperature,
    253 timestamp@
  129 weatherAlert: reportId, issueTime@, expireTime@, severity, type, 253 timestamp@
  131 cadenceZone: highValue, name, 254 messageIndex
  132 hr: fractionalTimestamp/32768, time256/256, 6 filteredBpm[], 9 eventTimestamp[]/1024, eventTimestamp12[], 253 timestamp@
  142 segmentLap: event, eventType, startTime@, startPositionLat, startPositionLong, endPositionLat, endPositionLong, totalElapsedTime/1000,
    totalTimerTime/1000, totalDistance/100, totalCycles, totalCalories, totalFatCalories, avgSpeed/1000, maxSpeed/1000, avgHeartRate, maxHeartRate,
    avgCadence, maxCadence, avgPower, maxPower, totalAscent, totalDescent, sport, eventGroup, necLat, necLong, swcLat, swcLong, name,
    normalizedPower, leftRightBalance, subSport, totalWork, avgAltitude/5-500, maxAltitude/5-500, gpsAccuracy, avgGrade/100, avgPosGrade/100,
    avgNegGrade/100, maxPosGrade/100, maxNegGrade/100, avgTemperature, maxTemperature, totalMovingTime/1000, avgPosVerticalSpeed/1000,
    avgNegVerticalSpeed/1000, maxPosVerticalSpeed/1000, maxNegVerticalSpeed/1000, timeInHrZone[]/1000, timeInSpeedZone[]/1000,
    timeInCadenceZone[]/1000, timeInPowerZone[]/1000, repetitionNum, minAltitude/5-500, minHeartRate, activeTime/1000, wktStepIndex, sportEvent,
    avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2, avgRightPedalSmoothness/2, avgCombinedPedalSmoothness/2,
    status, uuid, avgFractionalCadence/128, maxFractionalCadence/128, totalFractionalCycles/128, frontGearShiftCount, rearGearShiftCount,
    timeStanding/1000, standCount, avgLeftPco, avgRightPco, avgLeftPowerPhase[]/0.7111111, avgLeftPowerPhasePeak[]/0.7111111,
    avgRightPowerPhase[]/0.7111111, avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[], maxPowerPosition[], avgCadencePosition[],
    maxCadencePosition[], manufacturer, totalGrit, totalFlow, avgGrit, avgFlow, metabolicCalories, totalFractionalAscent/100,
    totalFractionalDescent/100, enhancedAvgAltitude/5-500, enhancedMaxAltitude/5-500, enhancedMinAltitude/5-500, 253 timestamp@, messageIndex
  145 memoGlob: memo[], mesgNum, parentIndex, fieldNum, data[], 250 partIndex
  148 segmentId: name, uuid, sport, enabled, userProfilePrimaryKey, deviceId, defaultRaceLeader, deleteStatus, selectionType
  149 segmentLeaderboardEntry: name, type, groupPrimaryKey, activityId, segmentTime/1000, activityIdString, 254 messageIndex
  150 segmentPoint: 1 positionLat, positionLong, distance/100, altitude/5-500, leaderTime[]/1000, enhancedAltitude/5-500, 254 messageIndex
  151 segmentFile: 1 fileUuid, 3 enabled, userProfilePrimaryKey, 7 leaderType[], leaderGroupPrimaryKey[], leaderActivityId[],
    leaderActivityIdString, defaultRaceLeader, 254 messageIndex
  158 workoutSession: sport, subSport, numValidSteps, firstStepIndex, poolLength/100, poolLengthUnit, 254 messageIndex
  159 watchfaceSettings: mode, layout, 254 messageIndex
  160 gpsMetadata: timestampMs, positionLat, positionLong, enhancedAltitude/5-500, enhancedSpeed/1000, heading/100, utcTimestamp@, velocity[]/100,
    253 timestamp@
  161 cameraEvent: timestampMs, cameraEventType, cameraFileUuid, cameraOrientation, 253 timestamp@
  162 timestampCorrelation: fractionalTimestamp/32768, systemTimestamp@, fractionalSystemTimestamp/32768, localTimestamp, timestampMs,
    systemTimestampMs, 253 timestamp@
  164 gyroscopeData: timestampMs, sampleTimeOffset[], gyroX[], gyroY[], gyroZ[], calibratedGyroX[], calibratedGyroY[], calibratedGyroZ[],
    253 timestamp@
  165 accelerometerData: timestampMs, sampleTimeOffset[], accelX[], accelY[], accelZ[], calibratedAccelX[], calibratedAccelY[], calibratedAccelZ[],
    compressedCalibratedAccelX[], compressedCalibratedAccelY[], compressedCalibratedAccelZ[], 253 timestamp@
  167 threeDSensorCalibration: sensorType, calibrationFactor, calibrationDivisor, levelShift, offsetCal[], orientationMatrix[]/65535, 253 timestamp@
  169 videoFrame: timestampMs, frameNumber, 253 timestamp@
  174 obdiiData: timestampMs, timeOffset[], pid, rawData[], pidDataSize[], systemTime[], startTimestamp@, startTimestampMs, 253 timestamp@
  177 nmeaSentence: timestampMs, sentence, 253 timestamp@
  178 aviationAttitude: timestampMs, systemTime[], pitch[]/10430.38, roll[]/10430.38, accelLateral[]/100, accelNormal[]/100, turnRate[]/1024,
    stage[], attitudeStageComplete[], track[]/10430.38, validity[], 253 timestamp@
  184 video: url, hostingProvider, duration
  185 videoTitle: messageCount, text, 254 messageIndex
  186 videoDescription: messageCount, text, 254 messageIndex
  187 videoClip: clipNumber, startTimestamp@, startTimestampMs, endTimestamp@, endTimestampMs, 6 clipStart, clipEnd
  188 ohrSettings: enabled, 253 timestamp@
  200 exdScreenConfiguration: screenIndex, fieldCount, layout, screenEnabled
  201 exdDataFieldConfiguration: screenIndex, conceptField, fieldId, conceptCount, displayType, title
  202 exdDataConceptConfiguration: screenIndex, conceptField, fieldId, conceptIndex, dataPage, conceptKey, scaling, 8 dataUnits, qualifier,
    descriptor, isSigned
  206 fieldDescription: developerDataIndex, fieldDefinitionNumber, fitBaseTypeId, fieldName, array, components, scale, offset, units, bits,
    accumulate, 13 fitBaseUnitId, nativeMesgNum, nativeFieldNum
  207 developerDataId: developerId[], applicationId[], manufacturerId, developerDataIndex, applicationVersion
  208 magnetometerData: timestampMs, sampleTimeOffset[], magX[], magY[], magZ[], calibratedMagX[], calibratedMagY[], calibratedMagZ[],
    253 timestamp@
  209 barometerData: timestampMs, sampleTimeOffset[], baroPres[], enhancedAltitude[]/5-500, 253 timestamp@
  210 oneDSensorCalibration: sensorType, calibrationFactor, calibrationDivisor, levelShift, offsetCal, 253 timestamp@
  211 monitoringHrData: restingHeartRate, currentDayRestingHeartRate, 253 timestamp@
  216 timeInZone: referenceMesg, referenceIndex, timeInHrZone[]/1000, timeInSpeedZone[]/1000, timeInCadenceZone[]/1000, timeInPowerZone[]/1000,
    hrZoneHighBoundary[], speedZoneHighBoundary[]/1000, cadenceZoneHighBondary[], powerZoneHighBoundary[], hrCalcType, maxHeartRate,
    restingHeartRate, thresholdHeartRate, pwrCalcType, functionalThresholdPower, 253 timestamp@
  225 set: duration/1000, 3 repetitions, weight/16, setType, startTime@, category[], categorySubtype[], weightDisplayUnit, messageIndex,
    wktStepIndex, 254 timestamp@
  227 stressLevel: stressLevelValue, stressLevelTime@
  229 maxMetData: updateTime@, 2 vo2Max/10, 5 sport, subSport, 8 maxMetCategory, calibratedData, 12 hrSource, speedSource
  258 diveSettings: name, model, gfLow, gfHigh, waterType, waterDensity, po2Warn/100, po2Critical/100, po2Deco/100, safetyStopEnabled, bottomDepth,
    bottomTime, apneaCountdownEnabled, apneaCountdownTime, backlightMode, backlightBrightness, backlightTimeout, repeatDiveInterval, safetyStopTime,
    heartRateSourceType, heartRateSource, travelGas, ccrLowSetpointSwitchMode, ccrLowSetpoint/100, ccrLowSetpointDepth/1000,
    ccrHighSetpointSwitchMode, ccrHighSetpoint/100, ccrHighSetpointDepth/1000, 29 gasConsumptionDisplay, upKeyEnabled, 35 diveSounds,
    lastStopMultiple/10, noFlyTimeMode, 253 timestamp@, messageIndex
  259 diveGas: heliumContent, oxygenContent, status, mode, 254 messageIndex
  262 diveAlarm: depth/1000, time, enabled, alarmType, sound, diveTypes[], id, popupEnabled, triggerOnDescent, triggerOnAscent, repeating,
    speed/1000, 254 messageIndex
  264 exerciseTitle: exerciseCategory, exerciseName, wktStepName, 254 messageIndex
  268 diveSummary: referenceMesg, referenceIndex, avgDepth/1000, maxDepth/1000, surfaceInterval, startCns, endCns, startN2, endN2, o2Toxicity,
    diveNumber, bottomTime/1000, avgPressureSac/100, avgVolumeSac/100, avgRmv/100, descentTime/1000, ascentTime/1000, avgAscentRate/1000,
    22 avgDescentRate/1000, maxAscentRate/1000, maxDescentRate/1000, hangTime/1000, 253 timestamp@
  269 spo2Data: readingSpo2, readingConfidence, mode, 253 timestamp@
  275 sleepLevel: sleepLevel, 253 timestamp@
  285 jump: distance, height, rotations, hangTime, score, positionLat, positionLong, speed/1000, enhancedSpeed/1000, 253 timestamp@
  289 aadAccelFeatures: time, energyTotal, zeroCrossCnt, instance, timeAboveThreshold/25, 253 timestamp@
  290 beatIntervals: timestampMs, time[], 253 timestamp@
  297 respirationRate: respirationRate/100, 253 timestamp@
  302 hsaAccelerometerData: timestampMs, samplingInterval, accelX[]/1.024, accelY[]/1.024, accelZ[]/1.024, timestamp32k, 253 timestamp@
  304 hsaStepData: processingInterval, steps[], 253 timestamp@
  305 hsaSpo2Data: processingInterval, readingSpo2[], confidence[], 253 timestamp@
  306 hsaStressData: processingInterval, stressLevel[], 253 timestamp@
  307 hsaRespirationData: processingInterval, respirationRate[]/100, 253 timestamp@
  308 hsaHeartRateData: processingInterval, status, heartRate[], 253 timestamp@
  312 split: splitType, totalElapsedTime/1000, totalTimerTime/1000, totalDistance/100, avgSpeed/1000, 9 startTime@, 11 sport, subSport, totalAscent,
    totalDescent, avgHeartRate, maxHeartRate, necLat, necLong, swcLat, swcLong, startPositionLat, startPositionLong, endPositionLat,
    endPositionLong, maxSpeed/1000, avgVertSpeed/1000, endTime@, totalCalories, avgCadence/128, maxCadence/128, totalCycles, avgTemperature,
    maxTemperature, minTemperature, avgVerticalOscillation/10, avgVerticalRatio/100, avgStanceTime/10, avgStanceTimeBalance/100, avgStepLength/10,
    avgPower, maxPower, normalizedPower, leftRightBalance, timeStanding/1000, avgLeftPco, avgRightPco, avgLeftPowerPhase[]/0.7111111,
    avgLeftPowerPhasePeak[]/0.7111111, avgRightPowerPhase[]/0.7111111, avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[], maxPowerPosition[],
    avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2, avgRightPedalSmoothness/2, avgCombinedPedalSmoothness/2,
    avgFlow, totalGrit, 62 swimStroke, numActiveLengths, avgSwolf, avgStrokeDistance/100, avgStrokesPerLength/10, firstLapIndex, numLaps,
    climbGradingScale, climbGradeValue, status, numFalls, climbSend, startElevation/5-500, 78 activeTime/1000, metabolicCalories,
    totalFractionalAscent/100, totalFractionalDescent/100, 88 avgGrade/100, maxGrade/100, minCadence/128, 93 avgGradeAdjustedSpeed/1000, avgStress,
    99 avgVam/1000, 104 jumpCount, 110 totalMovingTime/1000, 112 diveSectionType, avgAscentRate/1000, maxAscentRate/1000, avgDescentRate/1000,
    maxDescentRate/1000, totalAscentTime/1000, totalDescentTime/1000, totalHangTime/1000, apneaDiscipline, avgDepth/1000, maxDepth/1000,
    124 minHeartRate, 127 surfaceInterval, 142 totalFractionalCycles/128, 144 avgStanceTimePercent/100, 168 totalAnaerobicTrainingEffect/10,
    frontGearShiftCount, rearGearShiftCount, 253 timestamp@, messageIndex
  313 splitSummary: splitType, sport, subSport, numSplits, totalTimerTime/1000, totalDistance/100, avgSpeed/1000, maxSpeed/1000, totalAscent,
    totalDescent, avgHeartRate, maxHeartRate, avgVertSpeed/1000, totalCalories, avgCadence/128, maxCadence/128, totalCycles, avgTemperature,
    maxTemperature, minTemperature, avgVerticalOscillation/10, avgVerticalRatio/100, avgStanceTime/10, avgStanceTimeBalance/100, avgStepLength/10,
    avgPower, maxPower, normalizedPower, leftRightBalance, timeStanding/1000, avgLeftPco, avgRightPco, avgLeftPowerPhase[]/0.7111111,
    avgLeftPowerPhasePeak[]/0.7111111, avgRightPowerPhase[]/0.7111111, avgRightPowerPhasePeak[]/0.7111111, avgPowerPosition[], maxPowerPosition[],
    avgLeftTorqueEffectiveness/2, avgRightTorqueEffectiveness/2, avgLeftPedalSmoothness/2, avgRightPedalSmoothness/2, avgCombinedPedalSmoothness/2,
    avgFlow, totalGrit, 47 swimStroke, numActiveLengths, avgSwolf, avgStrokeDistance/100, avgStrokesPerLength/10, avgAscent, maxAscent,
    climbGradingScale, climbMaxGradeValue, numFalls, 58 numClimbsAttempted, numClimbsCompleted, maxDistance/100, 64 metabolicCalories,
    activeTime/1000, totalFractionalAscent/100, totalFractionalDescent/100, avgFractionalAscent/100, maxFractionalAscent/100,
    71 avgGradeAdjustedSpeed/1000, avgStress, 77 totalMovingTime/1000, 79 startTime@, 87 minHeartRate, 91 avgStanceTimePercent/100,
    101 maxTotalTimerTime/1000, 253 timestamp@, messageIndex
  314 hsaBodyBatteryData: processingInterval, level[], charged[], uncharged[], 253 timestamp@
  315 hsaEvent: eventId, 253 timestamp@
  317 climbPro: positionLat, positionLong, climbProEvent, climbNumber, climbCategory, currentDist, 253 timestamp@
  319 tankUpdate: sensor, pressure/100, 253 timestamp@
  323 tankSummary: sensor, startPressure/100, endPressure/100, volumeUsed/100, 253 timestamp@
  346 sleepAssessment: combinedAwakeScore, awakeTimeScore, awakeningsCountScore, deepSleepScore, sleepDurationScore, lightSleepScore,
    overallSleepScore, sleepQualityScore, sleepRecoveryScore, remSleepScore, sleepRestlessnessScore, awakeningsCount, 14 interruptionsScore,
    averageStressDuringSleep/100
  370 hrvStatusSummary: weeklyAverage/128, lastNightAverage/128, lastNight5MinHigh/128, baselineLowUpper/128, baselineBalancedLower/128,
    baselineBalancedUpper/128, status, 253 timestamp@
  371 hrvValue: value/128, 253 timestamp@
  372 rawBbi: timestampMs, data[], time[], quality[], gap[], 253 timestamp@
  375 deviceAuxBatteryInfo: deviceIndex, batteryVoltage/256, batteryStatus, batteryIdentifier, 253 timestamp@
  376 hsaGyroscopeData: timestampMs, samplingInterval, gyroX[]/28.57143, gyroY[]/28.57143, gyroZ[]/28.57143, timestamp32k, 253 timestamp@
  387 chronoShotSession: minSpeed/1000, maxSpeed/1000, avgSpeed/1000, shotCount, projectileType, grainWeight/10, standardDeviation/1000,
    253 timestamp@
  388 chronoShotData: shotSpeed/1000, shotNum, 253 timestamp@
  389 hsaConfigurationData: data[], dataSize, 253 timestamp@
  393 diveApneaAlarm: depth/1000, time, enabled, alarmType, sound, diveTypes[], id, popupEnabled, triggerOnDescent, triggerOnAscent, repeating,
    speed/1000, 254 messageIndex
  398 skinTempOvernight: localTimestamp, averageDeviation, average7DayDeviation, 4 nightlyValue, 253 timestamp@
  409 hsaWristTemperatureData: processingInterval, value[]/1000, 253 timestamp@
  412 napEvent: startTime@, startTimezoneOffset, endTime@, endTimezoneOffset, feedback, isDeleted, source, updateTimestamp@, 253 timestamp@,
    messageIndex
  470 sleepDisruptionSeverityPeriod: severity, 253 timestamp@, messageIndex
  471 sleepDisruptionOvernightSeverity: severity, 253 timestamp@
`

/** The messages of the FIT profile, by number. */
export const MESSAGES: ReadonlyMap<number, ProfileMessage> = new Map(
  PROFILE.split(/^ {2}(?=\d)/m)
    .slice(1)
    .map((text) => {
      const [, number = '', name = '', fields = ''] = /^(\d+) (\w+): ?([\s\S]*)$/.exec(text) ?? []
      return [Number(number), { name, fields: parseFields(fields.trim()) }]
    }),
)

/** Parses the fields of a message in PROFILE. */
function parseFields(list: string): ReadonlyMap<number, ProfileField> {
  const fields = new Map<number, ProfileField>()
  let number = 0
  for (const entry of list === '' ? [] : list.split(/,\s+/)) {
    const [, at, name = '', isList, isTime, scale = '1', offset = '0'] =
      /^(?:(\d+) )?(\w+)(\[\])?(@)?(?:\/([\d.]+))?(?:-(-?\d+))?$/.exec(entry) ?? []
    if (at !== undefined) number = Number(at)
    const kind = { isList: isList !== undefined, isTime: isTime !== undefined }
    fields.set(number++, { name, scale: Number(scale), offset: Number(offset), ...kind })
  }
  return fields
}
